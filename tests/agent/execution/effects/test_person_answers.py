"""What a person answers who was told to do something in the browser."""

from __future__ import annotations

import pytest

from agent.execution.effects.person_answers import ask_until_done
from agent.run_context import RunContext


class Person:
    """Gives one answer, and keeps what was asked."""

    def __init__(self, answer: str | None) -> None:
        self.answer, self.asked = answer, ""

    async def ask(self, name: str, prompt: str, *, secret: bool) -> str | None:
        self.asked = prompt
        return self.answer


@pytest.mark.parametrize(
    ("answer", "done"),
    [("done", True), ("ja", True), (None, False), ("", False), ("No ", False), ("stop", False)],
)
async def test_only_an_answer_that_is_no_refusal_goes_on(answer, done):
    person = Person(answer)
    assert await ask_until_done(RunContext(asker=person), "Choose a berth.") == done
    assert person.asked.startswith('Choose a berth. When it is done, answer "done"; without an answer')


async def test_without_anybody_to_ask_nothing_is_done():
    assert not await ask_until_done(RunContext(), "Choose a berth")
