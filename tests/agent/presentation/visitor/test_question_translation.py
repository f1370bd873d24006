"""Questions in languages that have a dictionary only: what is translated, and what is not guessed."""

from __future__ import annotations

import pytest

from agent.presentation.visitor.languages import load_language
from agent.presentation.visitor.multilingual_answers import MultilingualAnswerer, parse_in_any_language
from agent.presentation.visitor.question_translation import (
    detect_language,
    list_dictionaries,
    translate_question,
)
from agent.presentation.visitor.visitor_requests import RequestKind
from kb_schema.flow_translations import translate_flow
from tests.support.visitors import spadeworks


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Was kostet das?", "de"), ("¿Cuánto cuesta?", "es"), ("इसकी कीमत क्या है?", "hi"), ("What does it cost?", "en"),
        ("CSV?", "en"), ("", "en"), ("Salesforce", "en"),
    ],
)  # fmt: skip
def test_the_language_is_the_one_that_knows_most_words(text, language):
    assert detect_language(text, "en") == language


def test_what_the_dictionary_does_not_have_and_what_negates_must_be_in_the_answer():
    assert list_dictionaries() == ("de", "es", "hi")
    translated = translate_question("¿Por qué no habla Klingon el agente?", "es")
    assert translated is not None
    assert translated.text == "why speak klingon agent"
    assert set(translated.untranslated) == {"no", "klingon"}
    assert translate_question("Combien ça coûte ?", "fr") is None


@pytest.mark.parametrize(
    ("text", "kind", "topic"),
    [
        ("¿Quién eres?", RequestKind.IDENTITY, ""),
        ("आप कौन हैं?", RequestKind.IDENTITY, ""),
        ("Muéstrame las campañas", RequestKind.SHOW, "campaign"),
        ("¿Qué idiomas habla?", RequestKind.QUESTION, "Qué idiomas habla"),
        ("Wer sind Sie?", RequestKind.IDENTITY, ""),
        ("asdf", RequestKind.UNKNOWN, ""),
    ],
)
def test_requests_in_other_languages_are_the_same_requests(text, kind, topic):
    request = parse_in_any_language(text, "en", presenter="Robin", name_asked=False)
    assert (request.kind, request.topic, request.text) == (kind, topic, text)


async def test_in_a_german_presentation_the_english_knowledge_is_quoted_as_english(shelf):
    async with spadeworks(shelf) as session:
        flow = await session.knowledge.flow("spadeworks_demo")
        answers = MultilingualAnswerer(session, flow, translate_flow(flow, "de"), load_language("de"))
        own = await answers.answer("Was kostet das?")
        assert own is not None
        assert (own.quoted_language, own.answer.text[:17]) == (None, "Das hängt davon a")
        quoted = await answers.answer("¿Qué voces hay?")
        assert quoted is not None
        assert quoted.quoted_language == "en"
        assert "Calm" in quoted.answer.text
        assert await answers.answer("¿Habla Klingon?") is None
