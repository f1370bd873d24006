"""What a language model may add to a root cause, and what it may not."""

import json

import pytest
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel

from agent.inferencer import InferenceFailed, ModelInferencer
from agent.verification.root_cause import classify, consult
from kb_schema.verification import FailureEvidence, FailureKind, NetworkRequest

BROKEN = FailureEvidence(
    failure=FailureKind.TIMEOUT,
    element="Save",
    action="click",
    answers=(NetworkRequest(method="POST", url="/save", status=500, resource_type="document"),),
)
HIDDEN = FailureEvidence(failure=FailureKind.NOT_VISIBLE, element="Pay", action="click")


def saying(answer, asked=None):
    def reply(messages, _info):
        if asked is not None:
            asked.append(messages[-1].parts[-1].content)
        return ModelResponse(parts=[TextPart(answer)])

    return ModelInferencer(FunctionModel(reply))


class Silent:
    async def infer(self, prompt):
        raise InferenceFailed("no quota", retriable=True)


def opinion(**fields):
    return json.dumps({"agrees": True, "explanation": "The menu was never opened."} | fields)


async def test_model_that_agrees_explains_and_makes_it_surer():
    asked = []
    cause = await consult(HIDDEN, saying(opinion(), asked))
    alone = classify(HIDDEN)
    assert cause.class_ == "visibility_issue"
    assert cause.confidence > alone.confidence
    assert cause.evidence[-1] == "a language model agrees: The menu was never opened."
    assert '"element": "Pay"' in asked[0]
    assert "visibility_issue" in asked[0]


async def test_model_that_doubts_makes_it_less_sure_and_changes_no_class():
    cause = await consult(BROKEN, saying(opinion(agrees=False, explanation="Only drift; heal it.")))
    alone = classify(BROKEN)
    assert cause.class_ == "app_defect"
    assert alone.confidence - 0.11 < cause.confidence < alone.confidence
    assert cause.recommendation == alone.recommendation


@pytest.mark.parametrize(
    "answer",
    [
        "I think it is drift.",
        "{}",
        '{"agrees": true}',
        '{"agrees": "perhaps", "explanation": "x"}',
        opinion(**{"class": "selector_drift"}),
        opinion(explanation=""),
    ],
)
async def test_answer_that_is_not_an_opinion_changes_nothing(answer):
    assert await consult(BROKEN, saying(answer)) == classify(BROKEN)


async def test_opinion_in_a_code_fence_is_read():
    cause = await consult(HIDDEN, saying(f"```json\n{opinion()}\n```"))
    assert "never opened" in cause.evidence[-1]


async def test_model_that_does_not_answer_and_no_model_change_nothing():
    assert await consult(BROKEN, Silent()) == classify(BROKEN)
    assert await consult(BROKEN, None) == classify(BROKEN)


async def test_long_explanation_is_cut_and_confidence_stays_a_probability():
    cause = await consult(BROKEN, saying(opinion(explanation="because " * 500)))
    assert len(cause.evidence[-1]) < 700
    assert cause.confidence <= 0.99
