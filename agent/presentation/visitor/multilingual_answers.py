"""Answers questions that are asked in another language than the presentation, or than the knowledge base.

The presentation's own texts are searched first, in its language. Otherwise the question is translated by dictionary
(`question_translation`), and the knowledge base is searched in its own language; the answer is then quoted as it is written there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from agent.inferencer import Inferencer
from agent.presentation.visitor.follow_up_questions import CompletedQuestion, complete_question
from agent.presentation.visitor.knowledge_passages import KnowledgePassage
from agent.presentation.visitor.languages import Language, list_languages, load_language
from agent.presentation.visitor.question_answers import QuestionAnswerer, VisitorAnswer
from agent.presentation.visitor.question_translation import (
    INTO,
    begins_as_follow_up,
    detect_language,
    translate_question,
)
from agent.presentation.visitor.request_parser import parse_request
from agent.presentation.visitor.visitor_requests import RequestKind, VisitorRequest
from agent.session import Session
from kb_schema.presentation_flows import PresentationFlow

ReadFigures = Callable[[], Awaitable[Sequence[KnowledgePassage]]]
"""Returns the figures that the page shows now."""


@dataclass(frozen=True, slots=True)
class QuotedAnswer:
    """An answer, and the language it is written in if that is not the presentation's."""

    answer: VisitorAnswer
    quoted_language: str | None = None


class MultilingualAnswerer:
    """Answers the questions of one presentation's visitors."""

    def __init__(
        self,
        session: Session,
        authored: PresentationFlow,
        spoken: PresentationFlow,
        language: Language,
        inferencer: Inferencer | None = None,
        figures: ReadFigures | None = None,
    ) -> None:
        """`authored`: the flow as it is written; `spoken`: in the language of the presentation, `language`."""
        self._language = language
        self._written = authored.language.split("-")[0].casefold()
        self._spoken = QuestionAnswerer(session, spoken, language, inferencer, figures)
        self._own = self._spoken
        if self._written != language.language and self._written in list_languages():
            self._own = QuestionAnswerer(session, authored, load_language(self._written), inferencer, figures)

    async def answer(self, question: str, previous: str = "") -> QuotedAnswer | None:
        """Return the answer; None if the knowledge base has none. Raises the errors of the knowledge server's client.

        `previous`: the question before, from which a follow-up takes what it does not say.
        """
        asked_in = detect_language(question, self._language.language)
        same = asked_in == self._language.language
        authored = await self._spoken.authored_answer(question)
        if authored is not None:
            return QuotedAnswer(authored)
        asked = self._complete(question, previous, asked_in)
        if asked is None:
            return None
        found = await self._spoken.answer(asked.text, needed=asked.needed) if same else None
        if found is not None:
            return QuotedAnswer(found)
        if asked_in == self._written:
            if self._own is self._spoken:
                return None
            found = await self._own.answer(asked.text, needed=asked.needed)
        else:
            found = await self._translated(asked.text, asked_in)
        if found is None:
            return None
        return QuotedAnswer(found, None if self._own is self._spoken else self._written)

    def _complete(self, question: str, previous: str, asked_in: str) -> CompletedQuestion | None:
        """Return a question that can be understood alone; None if that would take another language's question."""
        if asked_in not in list_languages():
            return None if begins_as_follow_up(question, asked_in) else CompletedQuestion(question)
        known = previous if detect_language(previous, asked_in) == asked_in else ""
        return complete_question(question, known, load_language(asked_in))

    async def _translated(self, question: str, asked_in: str) -> VisitorAnswer | None:
        """Return the answer to the question in the language of the knowledge base; None if it cannot be translated."""
        translated = translate_question(question, asked_in) if self._written == INTO else None
        if translated is None:
            return None
        return await self._own.answer(translated.text, needed=translated.untranslated)

    def subject(self, question: str) -> str:
        """Return the words that tell what a question is about, in the language of the knowledge base if possible."""
        asked_in = detect_language(question, self._language.language)
        translated = translate_question(question, asked_in) if asked_in != self._language.language else None
        if translated is not None and self._language.language == INTO:
            return self._spoken.subject(translated.text)
        return self._spoken.subject(question)


def parse_in_any_language(text: str, in_language: str, *, presenter: str, name_asked: bool) -> VisitorRequest:
    """Return what a visitor wants, also if it is said in a language that has a dictionary only.

    Such a question keeps its own words as topic; a request to show something has them in English.
    """
    spoken = detect_language(text, in_language)
    own = spoken if spoken in list_languages() else in_language
    request = parse_request(text, own, presenter=presenter, name_asked=name_asked)
    if own == spoken or request.kind not in (RequestKind.UNKNOWN, RequestKind.QUESTION):
        return request
    translated = translate_question(text, spoken)
    if translated is None:
        return request
    meant = parse_request(translated.text, INTO, presenter=presenter)
    if meant.kind in (RequestKind.IDENTITY, RequestKind.SHOW):
        return VisitorRequest(meant.kind, text, meant.topic, language=spoken)
    if meant.kind is RequestKind.QUESTION or text.rstrip().endswith("?"):
        return VisitorRequest(RequestKind.QUESTION, text, topic=text.strip(" ?¿"), language=spoken)
    return request
