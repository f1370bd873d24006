"""A model chooses among elements that are too similar; where the action cannot be undone, only with evidence that is checked."""

from __future__ import annotations

import pytest

from agent.errors import PersonNeeded
from agent.healing.model_decider import ModelDecider
from agent.inferencer import ModelInferencer
from kb_schema.fingerprints import Fingerprint
from tests.support.model_server import Answer, serve_model

KNOWN = Fingerprint(
    role="button", tag="button", name="Send", heading="Invoices", before="Bin", box=(1, 2, 3, 4)
)
NOW = Fingerprint(role="button", tag="button", name="Send now", heading="Drafts", before="Bin")
LATER = Fingerprint(role="button", tag="button", name="Send later", heading="Invoices", before="Bin")


async def choose(answer, *, strict, page_text=True):
    """Return the choice between NOW and LATER, and what was sent."""
    with serve_model([answer]) as server:
        decider = ModelDecider(ModelInferencer(server.openai), page_text=page_text)
        return await decider.choose(KNOWN, [NOW, LATER], strict=strict), server.requests


async def test_its_choice_counts_where_the_action_can_be_undone():
    said = Answer(tool={"choice": 2, "reason": "both are below Invoices"})
    chosen, requests = await choose(said, strict=False)
    assert (chosen.at, chosen.reason) == (1, "chosen by the language model: both are below Invoices")
    assert "<page-text>" in requests[0].prompt
    assert "Invoices" in requests[0].prompt


@pytest.mark.parametrize("evidence", [[], ["Bin"], ["Send"], ["made up"], ["x"], ["button"]])
async def test_what_both_have_or_none_is_no_evidence_for_an_action_that_cannot_be_undone(evidence):
    said = Answer(tool={"choice": 2, "reason": "I am sure", "evidence": evidence})
    chosen, _ = await choose(said, strict=True)
    assert chosen is None


async def test_a_text_that_only_the_chosen_one_shares_is_evidence():
    said = Answer(tool={"choice": 2, "reason": "the same part", "evidence": ["Bin", "invoices"]})
    chosen, _ = await choose(said, strict=True)
    assert chosen.at == 1
    assert "only this one also has 'invoices'" in chosen.reason


@pytest.mark.parametrize(
    "answer",
    [Answer(tool={}), Answer(tool={"choice": 3}), Answer(tool={"choice": 0}), Answer(status=401), Answer("the second")],
)  # fmt: skip
async def test_without_a_usable_answer_nothing_is_chosen(answer):
    chosen, _ = await choose(answer, strict=False)
    assert chosen is None


async def test_without_page_texts_roles_and_names_are_sent():
    _, requests = await choose(Answer(tool={"choice": 1}), strict=False, page_text=False)
    assert "Send later" in requests[0].prompt
    assert "Invoices" not in requests[0].prompt
    assert "Bin" not in requests[0].prompt


async def test_the_page_gets_one_press_on_the_element_that_the_model_chose(hands):
    await hands.show("<main><p>Bin</p><button class=a>Send</button></main>")
    known = await hands.record(".a")
    await hands.show(
        "<main><p>Bin</p><button class=b>Send now</button><button class=b>Send later</button></main>"
    )

    def later(asked):
        block = asked.prompt.split("<page-text>")[2]
        lines = [line for line in block.splitlines() if '"name": "Send later"' in line]
        return Answer(tool={"choice": int(lines[0].partition(":")[0]), "reason": "it is later"})

    with serve_model(later) as server:
        decider = ModelDecider(ModelInferencer(server.openai))
        await hands.click(".a", known, decider=decider)
        assert await hands.clicks() == ["Send later"]
        with pytest.raises(PersonNeeded):  # it cannot be undone, and nothing but the name differs
            await hands.click(".a", known, decider=decider, careful=True)
        assert await hands.clicks() == ["Send later"]
