"""Outcomes that a language model judges: beside another outcome, last, with a quotation, and never without a model."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent.inferencer import ModelInferencer
from agent.judged_texts import TextJudgements
from agent.verification.page_checks import FailedStep, build_plan, execute_step, open_first_page
from kb_schema.verification import MissingItem
from tests.agent.verification.page_checks.conftest import HASTY, requirement
from tests.support.model_server import Answer, serve_model

SAID = "it sounds like a confirmation"
PAGE = "<h1>Quay</h1><p id=p>Welcome aboard, Ada Lovelace. The code is hunter2-hunter2</p>"
IMPATIENT = replace(HASTY, outcome_s=0.4, late_s=0.1)
YES = {"holds": True, "quote": "welcome aboard", "reason": "it welcomes"}


async def verify(site, open_site_page, answers, expected):
    site.page("/", PAGE)
    with serve_model(answers) as server:
        async with open_site_page() as site_page:
            if answers:
                site_page.judgements = TextJudgements(
                    ModelInferencer(server.openai),
                    redact=lambda text: text.replace("hunter2-hunter2", "[secret]"),
                )
            site_page.policy = IMPATIENT
            plan = await build_plan(site_page, requirement(f" | | | {expected}"))
            if plan.missing:
                return plan.missing[0], server.requests
            await open_first_page(site_page, "/")
            done = await execute_step(site_page, plan.steps[0])
        return done, server.requests


async def test_a_yes_with_a_quotation_holds_and_no_secret_is_sent(site, open_site_page):
    done, asked = await verify(site, open_site_page, [Answer(tool=YES)], f"shows:Quay; judged:{SAID}")
    assert not isinstance(done, FailedStep | MissingItem), done
    assert len(asked) == 1  # while the step was found; the page said the same when it was executed
    assert SAID in asked[0].text
    assert "hunter2" not in asked[0].text


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        ([Answer(tool={"holds": False, "reason": "it only greets"})], "it only greets"),
        ([Answer(tool={**YES, "quote": "booking confirmed"})], "quotes nothing that the page says"),
        ([], "--model"),
        ([Answer(status=500)], "not judged"),
    ],
)
async def test_a_no_an_invented_quotation_and_no_model_are_no_success(site, open_site_page, answers, why):
    done, _ = await verify(site, open_site_page, answers, f"shows:Quay; judged:{SAID}")
    assert isinstance(done, MissingItem)
    assert done.what.startswith("judged:")
    assert why in done.model_dump_json(), done


async def test_the_model_is_not_asked_while_another_outcome_does_not_hold(site, open_site_page):
    done, asked = await verify(site, open_site_page, [Answer(tool=YES)], f"not_shows:Quay; judged:{SAID}")
    assert isinstance(done, MissingItem)
    assert done.what.startswith("not_shows:")
    assert asked == []
