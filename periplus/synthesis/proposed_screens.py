"""Finds the screens of a workflow's steps: known screens, and new ones that are learned from the traces.

A new screen is proposed for pages of no known screen if a signature can be learned for it. Together with the
knowledge base, it must identify every page of the traces correctly. Otherwise the pages are refused with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from agent.knowledge_client import KnowledgeClient
from agent.synthesis.synthesis_pipeline import PipelineResult
from agent.synthesis.traces.trace_pages import TracePages
from kb_schema import KnowledgeError, SourcedDocument, assemble
from kb_schema.errors import Severity
from kb_schema.page_snapshots import PageSnapshot
from kb_schema.screens import Screen
from kb_schema.tool_answers import Identification
from kb_schema.url_patterns import matches_pattern, origin_of, relative_path
from kb_schema.websites import Website
from kb_store import Stores, read_knowledge
from loaders.screen_learner.observed_pages import ObservedPage
from loaders.screen_learner.page_clusters import cluster_pages
from loaders.screen_learner.screen_names import choose_free_id, choose_name
from loaders.screen_learner.signature_learner import SignatureNotLearned, learn_signature
from periplus.knowledge_server import connect_knowledge_client
from periplus.trial_stores import open_trial_stores

MOST_RUNS = 8
"""Maximum number of traces whose pages are examined."""


@dataclass(frozen=True, slots=True)
class ProposedScreen:
    """A new screen with its evidence."""

    screen: Screen
    evidence: str
    steps: tuple[int, ...]
    """Positions of the steps on this screen."""

    @property
    def numbers(self) -> str:
        """The step numbers, counted from 1, as text."""
        return ", ".join(str(at + 1) for at in self.steps)


@dataclass(frozen=True, slots=True)
class RefusedScreen:
    """Pages of no known screen for which no new screen is proposed."""

    name: str
    reason: str
    steps: tuple[int, ...]

    @property
    def numbers(self) -> str:
        """The step numbers, counted from 1, as text."""
        return ", ".join(str(at + 1) for at in self.steps)


@dataclass(frozen=True, slots=True)
class ScreensFound:
    """The screen of each step."""

    known: Mapping[int, str]
    """Maps a position to the id of a known screen that is the same in every trace."""
    names: Mapping[str, str]
    """Maps the ids of known screens to their names."""
    proposed: tuple[ProposedScreen, ...] = ()
    refused: tuple[RefusedScreen, ...] = ()
    mixed: frozenset[int] = frozenset()
    """Positions that are on a known screen in some traces or rounds, and elsewhere in others."""

    @property
    def new(self) -> tuple[Screen, ...]:
        """The proposed screens."""
        return tuple(each.screen for each in self.proposed)

    @property
    def by_step(self) -> dict[int, str]:
        """Maps positions to the ids of known and new screens.

        A step that was on one screen in one trace, or in the first round of its loop, and elsewhere in another is on none: it was shown
        on both, and only one of them may have become a screen.
        """
        seen: dict[int, set[str | None]] = {at: {screen_id} for at, screen_id in self.known.items()}
        for each in self.proposed:
            for at in each.steps:
                seen.setdefault(at, set()).add(each.screen.screen_id)
        for at in self.mixed | {at for each in self.refused for at in each.steps}:
            seen.setdefault(at, set()).add(None)
        only = {at: ids.pop() for at, ids in seen.items() if len(ids) == 1}
        return {at: screen_id for at, screen_id in only.items() if screen_id is not None}

    @property
    def told(self) -> dict[int, str]:
        """Maps positions to screen names for the report."""
        told = {at: self.names.get(screen_id, screen_id) for at, screen_id in self.known.items()}
        told |= {at: f"{each.screen.name} (new)" for each in self.proposed for at in each.steps}
        return told | {at: "unknown" for each in self.refused for at in each.steps}


async def find_screens(
    stores: Stores, website_id: str, base_url: str | None, result: PipelineResult
) -> ScreensFound:
    """Identify the screen of every step, and propose screens for unknown pages."""
    looks = _list_step_pages(result)
    if not looks:
        return ScreensFound({}, {})
    async with connect_knowledge_client(stores) as client:
        website = await KnowledgeClient(client, website_id).website()
        base = _base(base_url or website.base_url, looks)
        knowledge = KnowledgeClient(client, website_id, base)
        looks = await _identify_pages(knowledge, looks)
        own = {origin_of(base), *(origin_of(each) for each in website.allowed_origins)}
        foreign = [look for look in looks if origin_of(look.page.url) not in own]
        survey = _ScreenSurvey(website, base, [look for look in looks if look not in foreign])
        refused = [
            RefusedScreen(
                origin,
                "a page of another website",
                _steps(look for look in foreign if origin_of(look.page.url) == origin),
            )
            for origin in sorted({origin_of(look.page.url) for look in foreign})
        ]
        names = {screen.screen_id: screen.name for screen in (await knowledge.site_map()).screens}
        proposed = await survey.propose(knowledge, names, refused)
    proposed = await _select_consistent_screens(stores, website_id, survey, proposed, refused)
    known = _find_known_positions(looks)
    mixed = frozenset(look.step for look in looks if look.screen_id is not None and look.step not in known)
    return ScreensFound(known, names, tuple(proposed), tuple(refused), mixed)


# -- pages of the traces ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _StepPage:
    """The page before a step of one trace."""

    step: int
    run: str
    page: PageSnapshot
    seen: ObservedPage
    opened: bool
    """Whether the previous step opened the page by its address."""
    round: bool
    """Whether it is the page of a later round of a loop."""
    answer: Identification | None = None

    @property
    def screen_id(self) -> str | None:
        return None if self.answer is None else self.answer.screen_id


def _list_step_pages(result: PipelineResult) -> list[_StepPage]:
    """Return one page per step and trace, in loops those of the first two rounds. Copies of traces are ignored."""
    if result.aligned is None:
        return []
    runs = set(result.aligned.distinct_ids[:MOST_RUNS])
    pages = TracePages()
    found: list[_StepPage] = []
    for position in result.aligned.positions:
        for (run, rounds), cell in sorted(position.cells.items()):
            step = cell.step
            if (
                run not in runs
                or any(number > 1 for number in rounds)
                or not step.html_before
                or not step.source_url
            ):
                continue
            page, profile = (
                pages.get(step.html_before, step.source_url),
                pages.profile(step.html_before, step.source_url),
            )
            if page is None or profile is None:
                continue
            trace = result.aligned.traces.get(run)
            before = trace.steps[cell.step_index - 1] if trace is not None and cell.step_index else None
            opened = (
                before is not None
                and before.action_type == "navigate"
                and (before.args or {}).get("url") == step.source_url
            )
            seen = ObservedPage(profile, step.source_url, run, step=position.index)
            found.append(_StepPage(position.index, run, page.stored.snapshot, seen, opened, any(rounds)))
    return found


def _base(wanted: str, looks: Sequence[_StepPage]) -> str:
    """Return the base URL of the recordings: `wanted`, unless they were made on another host."""
    origins = [origin_of(look.page.url) for look in looks]
    return wanted if origin_of(wanted) in origins else origins[0]


async def _identify_pages(knowledge: KnowledgeClient, looks: Sequence[_StepPage]) -> list[_StepPage]:
    """Return the pages with the answers of the knowledge server; equal pages are identified once."""
    answers: dict[object, Identification] = {}
    found = []
    for look in looks:
        key = (look.page.url, look.page.html)
        if key not in answers:
            answers[key] = await knowledge.identify(look.page)
        found.append(replace(look, answer=answers[key]))
    return found


def _find_known_positions(looks: Iterable[_StepPage]) -> dict[int, str]:
    """Return the positions that are on the same known screen in every trace."""
    found: dict[int, set[str | None]] = {}
    for look in looks:
        found.setdefault(look.step, set()).add(look.screen_id)
    return {at: screen_id for at, (screen_id, *more) in found.items() if screen_id is not None and not more}


def _steps(looks: Iterable[_StepPage]) -> tuple[int, ...]:
    return tuple(sorted({look.step for look in looks}))


# -- new screens -----------------------------------------------------------------------------------------


class _ScreenSurvey:
    """The pages of the website, with the known or proposed screen of each page."""

    def __init__(self, website: Website, base: str, looks: Sequence[_StepPage]) -> None:
        self._website, self.base = website, base
        self.looks = list(looks)
        self.labelled: list[ObservedPage] = [
            replace(look.seen, path=relative_path(look.page.url, base), screen=look.screen_id)
            for look in looks
        ]

    async def propose(
        self, knowledge: KnowledgeClient, names: Mapping[str, str], refused: list[RefusedScreen]
    ) -> list[ProposedScreen]:
        """Return screens for the unknown pages; adds the refused ones to `refused`."""
        unknown = [number for number, look in enumerate(self.looks) if look.screen_id is None]
        groups = [
            [unknown[at] for at in group] for group in cluster_pages([self.labelled[n] for n in unknown])
        ]
        called = [self._name(group) for group in groups]
        taken = set(names)
        for group, name in zip(groups, called, strict=True):
            screen_id = choose_free_id(name, taken)
            taken.add(screen_id)
            for number in group:
                self.labelled[number] = replace(self.labelled[number], screen=screen_id)
        found = []
        for group, name in zip(groups, called, strict=True):
            steps = _steps(self.looks[number] for number in group)
            reason = await self._rival(knowledge, group)
            try:
                if reason is None:
                    found.append(self._proposed(name, group, steps))
            except SignatureNotLearned as exc:
                reason = exc.reason
            if reason is not None:
                refused.append(RefusedScreen(name, reason, steps))
        return found

    def _name(self, group: Sequence[int]) -> str:
        inside = set(group)
        others = [page for number, page in enumerate(self.labelled) if number not in inside]
        return choose_name([self.labelled[number] for number in group], others)

    async def _rival(self, knowledge: KnowledgeClient, group: Sequence[int]) -> str | None:
        """Return why the pages may belong to a known screen that is no longer recognised; else None."""
        seen = {look.screen_id for look in self.looks}
        for number in group:
            look = self.looks[number]
            for candidate in () if look.answer is None else look.answer.candidates:
                if candidate.screen_id in seen:
                    continue
                patterns = (await knowledge.screen(candidate.screen_id)).url_patterns
                if any(
                    matches_pattern(each, look.page.url, authored_base=self._website.base_url, base=self.base)
                    for each in patterns
                ):
                    return (
                        f"the address matches the known screen {candidate.screen_id}, but its signature does not: "
                        f"{candidate.because}; see `periplus kb check`"
                    )
        return None

    def _proposed(self, name: str, group: Sequence[int], steps: tuple[int, ...]) -> ProposedScreen:
        screen_id = self.labelled[group[0]].screen or ""
        learned = learn_signature(screen_id, self.labelled)
        opened = {self.labelled[number].path for number in group if self.looks[number].opened}
        screen = Screen(
            type="screen",
            website_id=self._website.website_id,
            screen_id=screen_id,
            name=name,
            url_patterns=learned.url_patterns,
            url=opened.pop() if len(opened) == 1 else None,
            state_signature=learned.signature,
            metadata={"learned": learned.evidence},
        )
        return ProposedScreen(screen, learned.evidence, steps)


async def _select_consistent_screens(
    stores: Stores,
    website_id: str,
    survey: _ScreenSurvey,
    proposed: Sequence[ProposedScreen],
    refused: list[RefusedScreen],
) -> list[ProposedScreen]:
    """Return the screens that are valid together with the knowledge base and identify every page correctly."""
    knowledge, _ = await read_knowledge(stores.documents, stores.graph, website_id)
    kept = list(proposed)
    while kept:
        screens = [each.screen for each in kept]
        try:
            together, _ = assemble([SourcedDocument(each) for each in (*knowledge.documents(), *screens)])
        except KnowledgeError as exc:
            wrong = _find_invalid_screens(exc, screens)
        else:
            async with open_trial_stores(together) as trial, connect_knowledge_client(trial) as client:
                wrong = await _find_mistaken_screens(
                    KnowledgeClient(client, website_id, survey.base), survey, screens
                )
        if not wrong:
            return kept
        refused += [
            RefusedScreen(e.screen.name, wrong[e.screen.screen_id], e.steps)
            for e in kept
            if e.screen.screen_id in wrong
        ]
        kept = [each for each in kept if each.screen.screen_id not in wrong]
    return kept


def _find_invalid_screens(error: KnowledgeError, screens: Sequence[Screen]) -> dict[str, str]:
    """Return the screens that break a rule, with the message. Raises `error` if none of them does."""
    wrong = {
        screen.screen_id: problem.message
        for problem in error.problems
        if problem.severity is Severity.ERROR
        for screen in screens
        if problem.document == f"screen:{screen.screen_id}" or f'"{screen.screen_id}"' in problem.message
    }
    if not wrong:
        raise error
    return wrong


async def _find_mistaken_screens(
    knowledge: KnowledgeClient, survey: _ScreenSurvey, screens: Sequence[Screen]
) -> dict[str, str]:
    """Return the screens with which some page is identified incorrectly, with the reason."""
    wrong: dict[str, str] = {}
    ids = {screen.screen_id for screen in screens}
    asked: dict[object, Identification] = {}
    for look, page in zip(survey.looks, survey.labelled, strict=True):
        key = (look.page.url, look.page.html)
        if key not in asked:
            asked[key] = await knowledge.identify(look.page)
        answer = asked[key]
        due = page.screen if page.screen in ids else look.screen_id
        if answer.screen_id != due or answer.ambiguous:
            told = f"{answer.screen_id or 'no screen'}{' or another' if answer.ambiguous else ''}"
            for screen_id in {due, answer.screen_id} & ids:
                wrong[str(screen_id)] = f"{page.path} would be identified as {told}"
    return wrong
