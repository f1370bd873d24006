"""Answers questions from the knowledge base, with sources; gives no answer if the knowledge base has none.

If a language model is configured, it words the retrieved passages, and `grounded_answers` removes everything
it adds.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from agent.inferencer import InferenceFailed, Inferencer
from agent.presentation.visitor.answer_fitness import AnswerFitness, has_number
from agent.presentation.visitor.grounded_answers import build_grounding_prompt, keep_grounded_sentences
from agent.presentation.visitor.knowledge_passages import (
    KnowledgePassage,
    collect_answer_passages,
    collect_flow_passages,
    collect_screen_passages,
    collect_task_passages,
)
from agent.presentation.visitor.languages import Language
from agent.presentation.visitor.word_similarity import (
    SAME_STEM,
    best_word_similarity,
    measure_word_recall,
    split_words,
)
from agent.session import Session
from kb_schema.presentation_flows import PresentationFlow

GOOD_ENOUGH, HOW_MANY, WHO = 0.45, 0.55, 0.65
"""Minimum share of the question that an answer must contain. It is higher for `how many`, because a wrong
number is worse than none, and for `who`, because knowledge of a site rarely names people.
"""
WORTH_A_LOOK = 0.3
"""Minimum share for a passage to be given to the language model, which may combine several."""
MOST_PASSAGES = 8
SAME_QUESTION = 0.6
"""Minimum mutual share for a question to count as the one an author's answer belongs to."""
FEW_WORDS = 2
"""Most distinctive words of a question of which each must be in the knowledge."""
LONGEST_LABEL = 4
"""Words beside the asked ones that the label of a figure may have."""
MOST_SCREENS = 2
"""Number of best matching screens whose tasks are searched, too."""


@dataclass(frozen=True, slots=True)
class AnswerWeights:
    """Factors that rank passages, besides the share of the question's words."""

    from_its_place: float = 0.8
    """Weight of a question word that only names the source."""
    unknown_like: float = 4.0
    """Weight of a word in no passage, as if so many passages contained it; of few passages, `unknown_share` of them."""
    unknown_share: float = 0.05
    """Below 80 passages a word that none of them has weighs more: there is little else to tell the question by."""
    beside_the_point: float = 0.8
    """Penalty for passages that contain only the common words of the question."""
    steps: float = 0.3
    """Bonus of steps for `how do I`: narration that only mentions the task is no answer to it."""
    no_steps: float = 0.1
    """Penalty of steps for other questions."""
    no_number: float = 0.4
    """Penalty for passages without a number for `how many`."""
    choices: float = 0.5
    """Bonus of choices for `which`; half of it for the purpose of a field."""
    limit: float = 0.2
    """Penalty for a field's limits if the question does not ask for them."""
    weak: float = 0.4
    """Weight of a word with many synonyms, such as `change` or `choose`."""
    place: float = 0.1
    """Most bonus for passages from the source that the question is about."""
    terse: float = 0.1
    """Most bonus for passages that contain little else."""
    subject_first: float = 0.1
    """Bonus for passages that begin with the subject: they define it."""
    story: float = 0.5
    """Bonus for authored narration if the question asks for an explanation."""


KINDS = ("screen", "task")


@dataclass(frozen=True, slots=True)
class VisitorAnswer:
    """An answer to a question."""

    text: str
    sources: tuple[str, ...]
    """Names of its sources, best first."""
    topic: str = ""
    """Its subject."""


class QuestionAnswerer:
    """Answers a visitor's questions about one website."""

    def __init__(
        self,
        session: Session,
        flow: PresentationFlow,
        language: Language,
        inferencer: Inferencer | None = None,
        figures: Callable[[], Awaitable[Sequence[KnowledgePassage]]] | None = None,
    ) -> None:
        """`figures` reads the numbers on the page; None: they are no answers."""
        self._session, self._flow, self._language, self._inferencer = session, flow, language, inferencer
        self._figures = figures
        self._weighing = AnswerWeights()

    async def answer(self, question: str, *, needed: Sequence[str] = ()) -> VisitorAnswer | None:
        """Return the answer; None if the knowledge base has none. Raises the errors of the knowledge server's
        client.

        `needed`: words that an answer must contain, because nothing else is known about them.
        """
        authored = await self.authored_answer(question) if not needed else None
        if authored is not None:
            return authored
        passages = await self._collect_passages(question)
        figure = await self._find_figure(question) if not needed else None
        if figure is not None:
            return figure
        ranked = await asyncio.to_thread(self._rank, question, passages)  # speech must not wait for the model
        ranked = [each for each in ranked if _has_all(each[2], needed)]
        if not ranked:
            return None
        if self._inferencer is not None:
            worded = await self._word_with_model(question, [each for _, _, each in ranked[:MOST_PASSAGES]])
            if worded is not None:
                return worded
        _, good, best_one = ranked[0]
        if not good:
            return None
        tells = self._language.opens(question, (*self._language.stories, *self._language.who))
        text = f"{best_one.text} {best_one.after}".strip() if tells else best_one.text
        return VisitorAnswer(text, (best_one.place,), best_one.place)

    async def _find_figure(self, question: str) -> VisitorAnswer | None:
        """Return the figure on the page that a question for a number is about: one that has all its words."""
        language, asked = self._language, self._distinctive_words(split_words(question))
        if (
            self._figures is None
            or not asked
            or not language.opens(question, language.how_many + language.stories)
        ):
            return None
        read = [
            each for each in await self._figures() if self._session.context.redact(each.text) == each.text
        ]
        fitting = [each for each in read if _has_all(each, asked) and has_number(each.text, self._language)]
        best = min(fitting, key=lambda each: len(each.text), default=None)
        counted = language.opens(question, language.how_many)
        if best is None or not _is_label(best.text, asked, first=not counted):
            return None
        return VisitorAnswer(best.text, (best.place,), best.place)

    async def authored_answer(self, question: str) -> VisitorAnswer | None:
        """Return the author's answer to this question, in any phrasing; None if there is none."""
        found = self._find_authored_answer(
            question, list(collect_answer_passages(self._flow, self._values()))
        )
        return None if found is None else VisitorAnswer(found.text, (), found.context)

    def _values(self) -> dict[str, object]:
        """Return the values that narration may have."""
        context = self._session.context
        outputs = {n: v for out in context.outputs.values() for n, v in out.items()}
        return {"agent_name": self._flow.presenter, **outputs, **context.session}

    def _find_authored_answer(
        self, question: str, passages: Sequence[KnowledgePassage]
    ) -> KnowledgePassage | None:
        """Return the author's answer to this question, in any phrasing."""
        asked = self._subject_of(question)
        alike: list[tuple[float, KnowledgePassage]] = []
        for passage in passages:
            if passage.kind == "answer":
                meant = self._subject_of(passage.context)
                alike.append(
                    (min(measure_word_recall(asked, meant), measure_word_recall(meant, asked)), passage)
                )
        score, nearest = max(alike, key=lambda each: each[0], default=(0.0, None))
        return nearest if score >= SAME_QUESTION else None

    async def _collect_passages(self, question: str) -> list[KnowledgePassage]:
        """Return all passages that may be related, without duplicates."""
        session, knowledge = self._session, self._session.knowledge
        values = self._values()
        found = [*collect_flow_passages(self._flow, values), *collect_answer_passages(self._flow, values)]
        name, description = session.website.name, session.website.description
        if description:
            found.append(KnowledgePassage(f"{name}: {description}", name, "website", context=name))
        tasks: dict[str, None] = {}
        screens = 0
        for hit in await knowledge.search(self._build_query(question), KINDS):
            if hit.kind == "task":
                tasks[hit.id] = None
            elif hit.kind == "screen":
                found += collect_screen_passages(await knowledge.screen(hit.id), self._language)
                if screens < MOST_SCREENS:
                    tasks |= dict.fromkeys(t.task_id for t in await knowledge.tasks_for_screen(hit.id))
                screens += 1
        for task_id in tasks:
            found += await collect_task_passages(await knowledge.task(task_id), session, self._language)
        redact = session.context.redact
        once = {(p.text, p.kind == "answer" and p.context): p for p in reversed(found)}
        return [p for p in reversed(once.values()) if redact(p.text) == p.text]

    def _rank(
        self, question: str, passages: Sequence[KnowledgePassage]
    ) -> list[tuple[float, bool, KnowledgePassage]]:
        """Return related passages, best first, and whether each one answers the question."""
        asked = self._distinctive_words(split_words(question))
        if not asked or not passages:
            return []
        said = [frozenset(split_words(f"{each.text} {each.context}")) for each in passages]
        about = _QuestionTopic(question, asked, said, self._language, self._weighing)
        ranked: list[tuple[float, bool, KnowledgePassage]] = []
        for passage in passages:
            if passage.kind == "answer":
                continue  # the answer belongs to that question only
            said_of_it = self._measure_share(about, passage)
            if said_of_it >= WORTH_A_LOOK:
                score = said_of_it + self._rank_bonus(about, passage)
                ranked.append((round(score, 4), said_of_it >= about.good_enough and about.known, passage))
        return sorted(ranked, key=lambda each: (not each[1], -each[0]))

    def subject(self, question: str) -> str:
        """Return the words that tell what a question is about."""
        asked = self._distinctive_words(split_words(question))
        return " ".join(word for word in asked if word not in self._language.weak_words)

    def _subject_of(self, question: str) -> Sequence[str]:
        """Return the distinctive words; all words if there are none."""
        words = split_words(question)
        return self._distinctive_words(words) or words

    def _build_query(self, question: str) -> str:
        """Return the search words, each also without its ending, because the search of the knowledge server
        does not stem.
        """
        asked = self._subject_of(question)
        return " ".join([*asked, *(word[:-1] for word in asked if word.endswith(("s", "n")))])[:400]

    def _distinctive_words(self, words: Sequence[str]) -> list[str]:
        return [word for word in dict.fromkeys(words) if word not in self._language.stop_words]

    def _measure_share(self, about: _QuestionTopic, passage: KnowledgePassage) -> float:
        """Return the share of the question that a passage contains, 0 to 1."""
        if (
            passage.kind == "choices"
            and about.choice
            and best_word_similarity(about.choice, split_words(passage.label))
            and about.fitness.keeps_promises(passage)
        ):
            return 1.0  # `which languages ...` is answered by the list of languages
        if not about.fitness.fits(passage):
            return 0.0
        weighing = self._weighing
        text = split_words(passage.place if passage.kind == "steps" else passage.text)
        context = split_words(passage.context)
        likeness = {
            word: max(
                best_word_similarity(word, text),
                weighing.from_its_place * best_word_similarity(word, context),
            )
            for word in about.asked
        }
        score = sum(about.worth[word] * alike for word, alike in likeness.items()) / about.total
        if score == 0:
            return 0.0
        rarest = max(about.worth[word] for word, alike in likeness.items() if alike)
        missing = [word for word in about.asked if about.counts[word] and not likeness[word]]
        unsaid = [word for word in about.asked if not likeness[word]]
        if passage.kind == "steps" and not _names_all(passage, unsaid, self._language):
            return 0.0  # how an epic is closed is not how an issue is
        if any(about.worth[word] >= rarest for word in missing):
            score *= weighing.beside_the_point
        if about.wants_number and not has_number(passage.text, self._language):
            score *= weighing.no_number
        return score

    def _rank_bonus(self, about: _QuestionTopic, passage: KnowledgePassage) -> float:
        """Return the bonus of a passage over others with the same share."""
        weighing, text = self._weighing, self._distinctive_words(split_words(passage.text))
        better = weighing.place * measure_word_recall(
            self._distinctive_words(split_words(passage.place)), about.asked
        )
        if passage.kind == "steps":
            return better + (weighing.steps if about.wants_steps else -weighing.no_steps)
        better += weighing.terse * measure_word_recall(text, about.asked)
        if about.wants_choices and passage.label:
            asked_for = weighing.choices * measure_word_recall(split_words(passage.label), about.asked)
            better += asked_for if passage.kind == "choices" else asked_for / 2
        if passage.kind == "limit" and not about.wants_number:
            better -= weighing.limit
        if about.wants_story and passage.source.startswith("segment/"):
            better += weighing.story * measure_word_recall(about.asked, split_words(passage.context))
        if passage.kind == "told" and text and best_word_similarity(text[0], about.asked):
            better += weighing.subject_first
        return better

    async def _word_with_model(
        self, question: str, passages: Sequence[KnowledgePassage]
    ) -> VisitorAnswer | None:
        """Return the model's wording, reduced to what the passages support; None if nothing is left."""
        assert self._inferencer is not None  # noqa: S101 - only called with an inferencer
        redacted = str(self._session.context.redact(question))
        try:
            said = await self._inferencer.infer(
                build_grounding_prompt(redacted, passages, self._language.language)
            )
        except InferenceFailed:
            return None
        held = keep_grounded_sentences(said, passages, question)
        if not held.text:
            return None
        return VisitorAnswer(held.text, held.sources, held.sources[0] if held.sources else "")


def _has_all(passage: KnowledgePassage, words: Sequence[str]) -> bool:
    """Return whether a passage contains all these words, in any of their endings."""
    said = split_words(f"{passage.text} {passage.context}")
    return all(best_word_similarity(word, said) >= SAME_STEM for word in words)


def _names_all(passage: KnowledgePassage, words: Sequence[str], language: Language) -> bool:
    """Return whether steps name all of these words, but for those that have many synonyms."""
    said = split_words(passage.text)
    return all(word in language.weak_words or best_word_similarity(word, said) for word in words)


def _is_label(text: str, asked: Sequence[str], *, first: bool) -> bool:
    """Return whether a figure's text is a label with its number, and not a sentence in which both occur.

    `first`: the label must come first, as in `Resolution Rate 94 %`; `23 agents` says nothing about what an agent is.
    """
    words = split_words(text)
    label = [word for word in words if not word.isdigit()]
    begins = not first or all(best_word_similarity(each, words[: len(asked)]) >= SAME_STEM for each in asked)
    return bool(label) and begins and len(label) <= LONGEST_LABEL + len(asked)


class _QuestionTopic:
    """Return the subject of a question, among these passages."""

    def __init__(
        self,
        question: str,
        asked: Sequence[str],
        said: Sequence[frozenset[str]],
        language: Language,
        weighing: AnswerWeights,
    ) -> None:
        self.asked = asked
        self.wants_steps = language.opens(question, language.how_questions)
        self.wants_number = language.opens(question, language.how_many) or bool(
            language.amounts.intersection(asked)
        )
        self.wants_choices = language.opens(question, language.which)
        self.wants_story = language.opens(question, language.stories)
        self.fitness = AnswerFitness(question, asked, language)
        tells = tuple(each for each in language.stories if each not in language.which)
        self.choice = asked[0] if self.wants_choices and not language.opens(question, tells) else ""
        """Return what is to be chosen from: the first distinctive word."""
        self.counts = {word: sum(best_word_similarity(word, words) > 0 for words in said) for word in asked}
        telling = [word for word in asked if word not in language.weak_words]
        self.known = len(telling) > FEW_WORDS or all(self.counts[word] for word in telling)
        """Whether enough of the question is known: of two words, one alone says little about what is asked."""
        self.good_enough = HOW_MANY if self.wants_number else GOOD_ENOUGH
        if language.opens(question, language.who):
            self.good_enough = WHO
        unknown = min(weighing.unknown_like, max(0.5, weighing.unknown_share * len(said)))
        self.worth = {
            word: math.log(1 + len(said) / (self.counts[word] or unknown))
            * (weighing.weak if word in language.weak_words else 1.0)
            for word in asked
        }
        self.total = sum(self.worth.values())
