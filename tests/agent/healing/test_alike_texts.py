"""What is said of a value that nothing on the page has: the texts that a person may have meant by it."""

from __future__ import annotations

import pytest

from agent.healing.healer import HealPolicy, IntendedElement
from agent.page.errors import GateFailed
from agent.page.live_selectors import fill_selector_parameters
from kb_schema.selectors import Selector, TemplateStrategy

ACCOUNTS = "<main><h1>Accounts</h1>{}</main>".format(
    "".join(
        f"<div class=account><b>{name}</b><button>Choose</button></div>"
        for name in ("Harbour Bank, checking, 3891", "Harbour Bank, savings, 2290", "Oak's card, 7156")
    )
)
ROW = Selector(
    strategies=(
        TemplateStrategy(
            type="parameterized_xpath",
            template="//div[@class='account'][.//b[normalize-space()='{{row}}']]//button",
            parameters=("row",),
        ),
    )
)


async def refusal(hands, value: str) -> str:
    await hands.show(ACCOUNTS)
    healer = hands.healer(policy=HealPolicy(gate_s=0.2, healed_gate_s=0.1))
    meant = IntendedElement("screen.account", fill_selector_parameters(ROW, {"row": value}), None)
    with pytest.raises(GateFailed) as failed:
        await healer.act(meant, hands.act())
    assert await hands.clicks() == []
    return str(failed.value)


async def test_texts_that_have_the_words_of_the_value_and_more_are_named(hands):
    said = await refusal(hands, "3891")
    assert "no row '3891' on the page" in said
    assert said.endswith("; the page has 'Harbour Bank, checking, 3891'")


async def test_a_text_that_is_written_almost_like_the_value_is_named(hands):
    assert (await refusal(hands, "Oaks card, 7156")).endswith("""; the page has "Oak's card, 7156\"""")


async def test_nothing_is_named_where_nothing_is_alike(hands):
    said = await refusal(hands, "O'Hara's vault")
    assert """no row "O'Hara's vault" on the page""" in said
    assert "the page has" not in said
