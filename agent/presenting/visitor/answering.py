"""Answering questions by what the knowledge says, with the place it comes from; else not at all.

A language model, where one is configured, words what was retrieved, and `holding` takes away whatever it adds.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent.inferring import InferenceFailed, Inferencer
from agent.presenting.visitor.holding import held_to, prompt_for
from agent.presenting.visitor.languages import Language, fold
from agent.presenting.visitor.likeness import best, found, words_of
from agent.presenting.visitor.passages import Passage, of_answers, of_flow, of_screen, of_task
from agent.session import Session
from kb_schema.presentation import PresentationFlow

GOOD_ENOUGH, HOW_MANY, WHO = 0.45, 0.55, 0.65
"""From so much of a question on, what says it is taken for its answer. More for `how many`, since a wrong number
is worse than none, and for `who`, since knowledge of a site seldom names people."""
WORTH_A_LOOK = 0.3
"""From so much on, it is given to a language model, which may put several together."""
MOST_PASSAGES = 8
SAME_QUESTION = 0.6
"""From so much of either in the other on, a question is the one that an answer was written for."""
MOST_SCREENS = 2
"""Of the screens that say something of it, those whose tasks are looked at, too."""


@dataclass(frozen=True, slots=True)
class Weighing:
    """What makes one passage a better answer than another, beside the words of the question it says."""

    from_its_place: float = 0.8
    """A word of the question that only names the place counts so much less than one that is said."""
    unknown_like: float = 4.0
    """A word that nothing says weighs as one that so many passages say."""
    beside_the_point: float = 0.8
    """What says the common words of the question and not the rare ones is so much worse."""
    steps: float = 0.1
    """What says how it is done is so much better an answer to `how do I`, and worse to others."""
    no_number: float = 0.4
    """What says no number is so much worse an answer to `how many`."""
    choices: float = 0.5
    """What says the choices is so much better an answer to `which`; what says what a field is for, half so."""
    limit: float = 0.2
    """How much a field takes is so much worse an answer where nobody asks for that."""
    weak: float = 0.4
    """A word like `change` or `choose`, which may well be put otherwise, tells so much less."""
    place: float = 0.1
    """What comes from where the question is about is better by up to so much."""
    terse: float = 0.1
    """What says nothing else is better by up to so much."""
    subject_first: float = 0.1
    """What begins with what is asked about tells what it is."""
    story: float = 0.5
    """What was written to be told is so much better where somebody asks to be told."""


_PARTS = re.compile(r"[^\W\d_]+|\d+")
KINDS = ("screen", "task")


@dataclass(frozen=True, slots=True)
class Answer:
    """What is said to a question."""

    text: str
    sources: tuple[str, ...]
    """The places it comes from, by name, best first."""
    topic: str = ""
    """What it is about."""


class Answers:
    """Answers a visitor's questions about one website."""

    def __init__(
        self,
        session: Session,
        flow: PresentationFlow,
        language: Language,
        inferencer: Inferencer | None = None,
    ) -> None:
        self._session, self._flow, self._language, self._inferencer = session, flow, language, inferencer
        self._weighing = Weighing()

    async def to(self, question: str) -> Answer | None:
        """The answer, or None where the knowledge has none. Raises what the desk raises."""
        passages = await self._passages(question)
        authored = self._authored(question, passages)
        if authored is not None:
            return Answer(authored.text, (), authored.context)
        ranked = await asyncio.to_thread(self._ranked, question, passages)  # speech is not to wait for it
        if not ranked:
            return None
        if self._inferencer is not None:
            worded = await self._worded(question, [each for _, _, each in ranked[:MOST_PASSAGES]])
            if worded is not None:
                return worded
        _, good, best_one = ranked[0]
        if not good:
            return None
        tells = self._language.opens(question, self._language.stories)
        text = f"{best_one.text} {best_one.after}".strip() if tells else best_one.text
        return Answer(text, (best_one.place,), best_one.place)

    def _authored(self, question: str, passages: Sequence[Passage]) -> Passage | None:
        """What its author says to just that question, in whatever words it was put."""
        asked = self._subject_of(question)
        alike: list[tuple[float, Passage]] = []
        for passage in passages:
            if passage.kind == "answer":
                meant = self._subject_of(passage.context)
                alike.append((min(found(asked, meant), found(meant, asked)), passage))
        score, nearest = max(alike, key=lambda each: each[0], default=(0.0, None))
        return nearest if score >= SAME_QUESTION else None

    async def _passages(self, question: str) -> list[Passage]:
        """All that may have to do with it, without anything twice."""
        session, knowledge = self._session, self._session.knowledge
        outputs = {n: v for out in session.context.outputs.values() for n, v in out.items()}
        values = {"agent_name": self._flow.presenter, **outputs, **session.context.session}
        found = [*of_flow(self._flow, values), *of_answers(self._flow, values)]
        name, description = session.website.name, session.website.description
        if description:
            found.append(Passage(f"{name}: {description}", name, "website", context=name))
        tasks: dict[str, None] = {}
        screens = 0
        for hit in await knowledge.search(self._query(question), KINDS):
            if hit.kind == "task":
                tasks[hit.id] = None
            elif hit.kind == "screen":
                found += of_screen(await knowledge.screen(hit.id), self._language)
                if screens < MOST_SCREENS:
                    tasks |= dict.fromkeys(t.task_id for t in await knowledge.tasks_for_screen(hit.id))
                screens += 1
        for task_id in tasks:
            found += await of_task(await knowledge.task(task_id), session, self._language)
        redact = session.context.redact
        once = {(p.text, p.kind == "answer" and p.context): p for p in reversed(found)}
        return [p for p in reversed(once.values()) if redact(p.text) == p.text]

    def _ranked(self, question: str, passages: Sequence[Passage]) -> list[tuple[float, bool, Passage]]:
        """Those that have to do with it, best first, and whether each answers it."""
        asked = self._telling(words_of(question))
        if not asked or not passages:
            return []
        said = [frozenset(words_of(f"{each.text} {each.context}")) for each in passages]
        about = _About(question, asked, said, self._language, self._weighing)
        ranked: list[tuple[float, bool, Passage]] = []
        for passage in passages:
            if passage.kind == "answer":
                continue  # it is for that question alone
            said_of_it = self._said(about, passage)
            if said_of_it >= WORTH_A_LOOK:
                score = said_of_it + self._better(about, passage)
                ranked.append((round(score, 4), said_of_it >= about.good_enough, passage))
        return sorted(ranked, key=lambda each: (not each[1], -each[0]))

    def subject(self, question: str) -> str:
        """The words of a question that say what it is about."""
        asked = self._telling(words_of(question))
        return " ".join(word for word in asked if word not in self._language.weak_words)

    def _subject_of(self, question: str) -> Sequence[str]:
        """The words that tell, or all where none does."""
        words = words_of(question)
        return self._telling(words) or words

    def _query(self, question: str) -> str:
        """The words to look for, and each without its ending: the desk knows nothing of endings."""
        asked = self._subject_of(question)
        return " ".join([*asked, *(word[:-1] for word in asked if word.endswith(("s", "n")))])[:400]

    def _telling(self, words: Sequence[str]) -> list[str]:
        return [word for word in dict.fromkeys(words) if word not in self._language.stop_words]

    def _said(self, about: _About, passage: Passage) -> float:
        """How much of what the question tells is said, 0 to 1."""
        if passage.kind == "choices" and about.choice and best(about.choice, words_of(passage.label)):
            return 1.0  # `which languages ...` is answered by the languages there are
        weighing = self._weighing
        text = words_of(passage.place if passage.kind == "steps" else passage.text)
        context = words_of(passage.context)
        likeness = {
            word: max(best(word, text), weighing.from_its_place * best(word, context)) for word in about.asked
        }
        score = sum(about.worth[word] * alike for word, alike in likeness.items()) / about.total
        if score == 0:
            return 0.0
        rarest = max(about.worth[word] for word, alike in likeness.items() if alike)
        missing = [word for word in about.asked if about.counts[word] and not likeness[word]]
        if any(about.worth[word] >= rarest for word in missing):
            score *= weighing.beside_the_point
        if about.wants_number and not self._has_number(passage.text):
            score *= weighing.no_number
        return score

    def _has_number(self, text: str) -> bool:
        return any(
            word.isdigit() or word in self._language.number_words for word in _PARTS.findall(fold(text))
        )

    def _better(self, about: _About, passage: Passage) -> float:
        """How much better it is than another that says as much."""
        weighing, text = self._weighing, self._telling(words_of(passage.text))
        better = weighing.place * found(self._telling(words_of(passage.place)), about.asked)
        if passage.kind == "steps":
            return better + (weighing.steps if about.wants_steps else -weighing.steps)
        better += weighing.terse * found(text, about.asked)
        if about.wants_choices and passage.label:
            asked_for = weighing.choices * found(words_of(passage.label), about.asked)
            better += asked_for if passage.kind == "choices" else asked_for / 2
        if passage.kind == "limit" and not about.wants_number:
            better -= weighing.limit
        if about.wants_story and passage.source.startswith("segment/"):
            better += weighing.story * found(about.asked, words_of(passage.context))
        if passage.kind == "told" and text and best(text[0], about.asked):
            better += weighing.subject_first
        return better

    async def _worded(self, question: str, passages: Sequence[Passage]) -> Answer | None:
        """As the model puts it, as far as the passages bear it out; None where nothing is left."""
        assert self._inferencer is not None  # noqa: S101 - only called with one
        redacted = str(self._session.context.redact(question))
        try:
            said = await self._inferencer.infer(prompt_for(redacted, passages, self._language.language))
        except InferenceFailed:
            return None
        held = held_to(said, passages, question)
        if not held.text:
            return None
        return Answer(held.text, held.sources, held.sources[0] if held.sources else "")


class _About:
    """What a question is about, among some passages."""

    def __init__(
        self,
        question: str,
        asked: Sequence[str],
        said: Sequence[frozenset[str]],
        language: Language,
        weighing: Weighing,
    ) -> None:
        self.asked = asked
        self.wants_steps = language.opens(question, language.how_questions)
        self.wants_number = language.opens(question, language.how_many) or bool(
            language.amounts.intersection(asked)
        )
        self.wants_choices = language.opens(question, language.which)
        self.wants_story = language.opens(question, language.stories)
        self.choice = asked[0] if self.wants_choices else ""
        """What is to be chosen from: the first telling word."""
        self.counts = {word: sum(best(word, words) > 0 for words in said) for word in asked}
        self.good_enough = HOW_MANY if self.wants_number else GOOD_ENOUGH
        if language.opens(question, language.who):
            self.good_enough = WHO
        self.worth = {
            word: math.log(1 + len(said) / (self.counts[word] or weighing.unknown_like))
            * (weighing.weak if word in language.weak_words else 1.0)
            for word in asked
        }
        self.total = sum(self.worth.values())
