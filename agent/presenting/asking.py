"""Asking a visitor for a value that a task needs (KS 9.2 `user_input`)."""

from __future__ import annotations

import re

from agent.presenting.floor import Floor
from agent.presenting.telling import Telling
from agent.presenting.visitor.requests import Kind
from agent.presenting.visitor.understanding import understand

ANSWER_S = 10.0
"""How long an answer is waited for, at speed 1; then the story goes on without it."""
ELSEWHERE = frozenset({Kind.SKIP, Kind.STOP, Kind.BACK, Kind.SHOW, Kind.JUMP, Kind.RESTART, Kind.PAUSE})
"""What is no answer: the visitor wants something else."""
NO_ANSWER = frozenset({Kind.NO, Kind.GO_ON})
"""Nothing comes to the visitor's mind."""

_WRAPPED = re.compile(
    r"^(?:(?:please|bitte|oh|well|um|okay|ok|let's|let us|maybe|perhaps|vielleicht|how about|what about|"
    r"wie wäre es mit|wie wär's mit|take|use|nimm|nehmen sie|try|(?:call|name) (?:it|him|her|them)|"
    r"nenn(?:en wir|en sie|e)? (?:es|ihn|sie)|it is|it's|es ist|i'd say|ich würde sagen)[\s,]+)+",
    re.IGNORECASE,
)
_AS_YOU_LIKE = re.compile(
    r"^(?:you (?:choose|decide|pick)|whatever|anything|i don't (?:know|care)|no idea|such dir|egal|"
    r"keine ahnung|wie du willst|wie sie wollen|entscheide du)\b",
    re.IGNORECASE,
)
_TRAILING = re.compile(r"[\s,]*(?:please|bitte)?[.!?\s]*$", re.IGNORECASE)


class VisitorAsker:
    """Asks whoever has the floor (`agent.context.Asker`); nobody, where nobody is known to be there. A secret
    is asked of nobody in an audience.
    """

    def __init__(self, telling: Telling, floor: Floor, language: str, *, answer_s: float = ANSWER_S) -> None:
        self._telling, self._floor, self._language = telling, floor, language
        self._answer_s = answer_s

    async def ask(self, name: str, prompt: str, *, secret: bool) -> str | None:
        """The visitor's answer; None where there is none, or the visitor wants something else: that is
        attended to at the next safe point. Raises `Detoured`.
        """
        if secret or self._telling.instant or not self._floor.visited:
            return None
        await self._telling.say(_question(prompt or name), {})
        await self._telling.narrator.finished()
        heard = await self._floor.listen(self._answer_s / self._telling.speed)
        if heard is None:
            return None
        request = understand(heard.text, self._language)
        if request.kind in ELSEWHERE:
            self._floor.hear(heard.text, by=heard.by)
            return None
        answer = None if request.kind in NO_ANSWER else answer_in(heard.text)
        self._telling.session.context.personal.keep(answer)
        return answer


def answer_in(text: str) -> str | None:
    """The value in what somebody said; None where the choice is left to the presenter.

    >>> answer_in("Please call it Nova, please!")
    'Nova'
    >>> answer_in("You choose.")
    """
    said = _TRAILING.sub("", _WRAPPED.sub("", text.strip()))
    return None if not said or _AS_YOU_LIKE.match(said) else said


def _question(prompt: str) -> str:
    """Words that end as a question does. `{` is none of a template's: prompts are the author's own words."""
    asked = prompt.replace("{", "(").replace("}", ")").strip()
    return asked if asked.endswith(("?", ".", "!")) else f"{asked}?"
