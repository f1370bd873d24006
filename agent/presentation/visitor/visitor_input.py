"""Asks a visitor for a value that a task needs (KS 9.2 `user_input`)."""

from __future__ import annotations

import re

from agent.presentation.narration.interruptible_narrator import InterruptibleNarrator
from agent.presentation.turn_manager import TurnManager
from agent.presentation.visitor.request_parser import parse_request
from agent.presentation.visitor.visitor_requests import RequestKind

ANSWER_S = 10.0
"""Seconds to wait for an answer, at speed 1; then the flow continues without it."""
ELSEWHERE = frozenset(
    {
        RequestKind.SKIP,
        RequestKind.STOP,
        RequestKind.BACK,
        RequestKind.SHOW,
        RequestKind.JUMP,
        RequestKind.RESTART,
        RequestKind.PAUSE,
    }
)
"""Requests that are no answer to the question."""
NO_ANSWER = frozenset({RequestKind.NO, RequestKind.GO_ON})
"""Answers without a value."""

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


class VisitorInputRequester:
    """Asks the current visitor for inputs (`agent.run_context.InputProvider`). It asks nothing if no visitor
    is present, and never asks for secrets.
    """

    def __init__(
        self,
        narration: InterruptibleNarrator,
        turns: TurnManager,
        language: str,
        *,
        answer_s: float = ANSWER_S,
    ) -> None:
        self._narration, self._turns, self._language = narration, turns, language
        self._answer_s = answer_s

    async def ask(self, name: str, prompt: str, *, secret: bool) -> str | None:
        """Return the visitor's answer; None if there is none, or if the visitor requests something else,
        which is handled at the next safe point.

        Raises `DetourRequested`.
        """
        if secret or self._narration.instant or not self._turns.visited:
            return None
        await self._narration.say(_end_as_question(prompt or name), {})
        await self._narration.narrator.finished()
        heard = await self._turns.listen(self._answer_s / self._narration.speed)
        if heard is None:
            return None
        request = parse_request(heard.text, self._language)
        if request.kind in ELSEWHERE:
            self._turns.hear(heard.text, by=heard.by)
            return None
        answer = None if request.kind in NO_ANSWER else extract_answer(heard.text)
        self._narration.session.context.personal.keep(answer)
        return answer


def extract_answer(text: str) -> str | None:
    """Return the value in an answer; None if the visitor leaves the choice to the presenter.

    >>> extract_answer("Please call it Nova, please!")
    'Nova'
    >>> extract_answer("You choose.")
    """
    said = _TRAILING.sub("", _WRAPPED.sub("", text.strip()))
    return None if not said or _AS_YOU_LIKE.match(said) else said


def _end_as_question(prompt: str) -> str:
    """Return a prompt with closing punctuation. Braces are replaced, because a prompt is no template."""
    asked = prompt.replace("{", "(").replace("}", ")").strip()
    return asked if asked.endswith(("?", ".", "!")) else f"{asked}?"
