"""The screens a workflow is on: those that the knowledge has, and new ones, learned from its traces.

A new screen is proposed where no known one is, if a signature for it can be learned and, tried beside all
that is known, tells every page that was seen right. What cannot be is refused with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from agent.knowledge import Knowledge
from agent.synthesis.pages import Pages
from agent.synthesis.pipeline import PipelineResult
from kb_schema import KnowledgeError, Sourced, assemble
from kb_schema.answers import Identification
from kb_schema.errors import Severity
from kb_schema.screens import Screen
from kb_schema.snapshots import PageSnapshot
from kb_schema.urls import matches, origin_of, relative_path
from kb_schema.websites import Website
from kb_store import Stores, read_knowledge
from loaders.signatures.grouping import screens_of
from loaders.signatures.learning import NotLearned, learn
from loaders.signatures.naming import free_id, name_of
from loaders.signatures.seen import ObservedPage
from periplus.desk import desk_client
from periplus.trial import trial_stores

MOST_RUNS = 8
"""Traces whose pages are looked at; more only repeat them."""


@dataclass(frozen=True, slots=True)
class ProposedScreen:
    """A new screen."""

    screen: Screen
    evidence: str
    steps: tuple[int, ...]
    """Positions that are on it."""

    @property
    def numbers(self) -> str:
        """The steps as people count them."""
        return ", ".join(str(at + 1) for at in self.steps)


@dataclass(frozen=True, slots=True)
class RefusedScreen:
    """Pages of no known screen of which none is made."""

    name: str
    reason: str
    steps: tuple[int, ...]

    @property
    def numbers(self) -> str:
        """The steps as people count them."""
        return ", ".join(str(at + 1) for at in self.steps)


@dataclass(frozen=True, slots=True)
class ScreensFound:
    """Which screen each step is on."""

    known: Mapping[int, str]
    """Position -> id of a screen that the knowledge has, the same in every trace."""
    names: Mapping[str, str]
    """What known screens are called."""
    proposed: tuple[ProposedScreen, ...] = ()
    refused: tuple[RefusedScreen, ...] = ()

    @property
    def new(self) -> tuple[Screen, ...]:
        """The screens that are proposed."""
        return tuple(each.screen for each in self.proposed)

    @property
    def by_step(self) -> dict[int, str]:
        """Position -> screen id, known or new."""
        return dict(self.known) | {at: each.screen.screen_id for each in self.proposed for at in each.steps}

    @property
    def told(self) -> dict[int, str]:
        """Position -> what a person calls its screen."""
        told = {at: self.names.get(screen_id, screen_id) for at, screen_id in self.known.items()}
        told |= {at: f"{each.screen.name} (new)" for each in self.proposed for at in each.steps}
        return told | {at: "unknown" for each in self.refused for at in each.steps}


async def screens_found(
    stores: Stores, website_id: str, base_url: str | None, result: PipelineResult
) -> ScreensFound:
    """What the knowledge says of the pages of every step, and screens for those it does not know."""
    looks = _looks(result)
    if not looks:
        return ScreensFound({}, {})
    async with desk_client(stores) as client:
        website = await Knowledge(client, website_id).website()
        base = _base(base_url or website.base_url, looks)
        knowledge = Knowledge(client, website_id, base)
        looks = await _identified(knowledge, looks)
        own = {origin_of(base), *(origin_of(each) for each in website.allowed_origins)}
        foreign = [look for look in looks if origin_of(look.page.url) not in own]
        survey = _Survey(website, base, [look for look in looks if look not in foreign])
        refused = [
            RefusedScreen(origin, "a page of another website", _steps(look for look in foreign if origin_of(look.page.url) == origin))
            for origin in sorted({origin_of(look.page.url) for look in foreign})
        ]  # fmt: skip
        names = {screen.screen_id: screen.name for screen in (await knowledge.site_map()).screens}
        proposed = await survey.propose(knowledge, names, refused)
    proposed = await _tried(stores, website_id, survey, proposed, refused)
    return ScreensFound(_steady(looks), names, tuple(proposed), tuple(refused))


# -- what was seen ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Look:
    """A page before a step of one trace."""

    step: int
    run: str
    page: PageSnapshot
    seen: ObservedPage
    opened: bool
    """Whether the step before it was its address."""
    answer: Identification | None = None

    @property
    def screen_id(self) -> str | None:
        return None if self.answer is None else self.answer.screen_id


def _looks(result: PipelineResult) -> list[_Look]:
    """One page for each step and trace, of a loop that of its first round. Copies of a trace decide nothing."""
    if result.aligned is None:
        return []
    runs = set(result.aligned.distinct_ids[:MOST_RUNS])
    pages = Pages()
    found: list[_Look] = []
    for position in result.aligned.positions:
        for (run, rounds), cell in sorted(position.cells.items()):
            step = cell.step
            if run not in runs or any(rounds) or not step.html_before or not step.source_url:
                continue
            page, sketch = (
                pages.get(step.html_before, step.source_url),
                pages.sketch(step.html_before, step.source_url),
            )
            if page is None or sketch is None:
                continue
            trace = result.aligned.traces.get(run)
            before = trace.steps[cell.step_index - 1] if trace is not None and cell.step_index else None
            opened = (
                before is not None
                and before.action_type == "navigate"
                and (before.args or {}).get("url") == step.source_url
            )
            seen = ObservedPage(sketch, step.source_url, run, step=position.index)
            found.append(_Look(position.index, run, page.stored.snapshot, seen, opened))
    return found


def _base(wanted: str, looks: Sequence[_Look]) -> str:
    """The base URL of the recordings: the one wanted, unless they were made elsewhere."""
    origins = [origin_of(look.page.url) for look in looks]
    return wanted if origin_of(wanted) in origins else origins[0]


async def _identified(knowledge: Knowledge, looks: Sequence[_Look]) -> list[_Look]:
    """With what the desk says; the same page is asked about once."""
    answers: dict[object, Identification] = {}
    found = []
    for look in looks:
        key = (look.page.url, look.page.html)
        if key not in answers:
            answers[key] = await knowledge.identify(look.page)
        found.append(replace(look, answer=answers[key]))
    return found


def _steady(looks: Iterable[_Look]) -> dict[int, str]:
    """Positions that are on the same known screen in every trace."""
    found: dict[int, set[str | None]] = {}
    for look in looks:
        found.setdefault(look.step, set()).add(look.screen_id)
    return {at: screen_id for at, (screen_id, *more) in found.items() if screen_id is not None and not more}


def _steps(looks: Iterable[_Look]) -> tuple[int, ...]:
    return tuple(sorted({look.step for look in looks}))


# -- new screens -----------------------------------------------------------------------------------------


class _Survey:
    """The pages of the website itself, and the screens that they are made of."""

    def __init__(self, website: Website, base: str, looks: Sequence[_Look]) -> None:
        self._website, self.base = website, base
        self.looks = list(looks)
        self.labelled: list[ObservedPage] = [
            replace(look.seen, path=relative_path(look.page.url, base), screen=look.screen_id)
            for look in looks
        ]

    async def propose(
        self, knowledge: Knowledge, names: Mapping[str, str], refused: list[RefusedScreen]
    ) -> list[ProposedScreen]:
        """Screens for the pages of none; what is refused is added to `refused`."""
        unknown = [number for number, look in enumerate(self.looks) if look.screen_id is None]
        groups = [[unknown[at] for at in group] for group in screens_of([self.labelled[n] for n in unknown])]
        called = [self._name(group) for group in groups]
        taken = set(names)
        for group, name in zip(groups, called, strict=True):
            screen_id = free_id(name, taken)
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
            except NotLearned as exc:
                reason = exc.reason
            if reason is not None:
                refused.append(RefusedScreen(name, reason, steps))
        return found

    def _name(self, group: Sequence[int]) -> str:
        inside = set(group)
        others = [page for number, page in enumerate(self.labelled) if number not in inside]
        return name_of([self.labelled[number] for number in group], others)

    async def _rival(self, knowledge: Knowledge, group: Sequence[int]) -> str | None:
        """Why it may be a known screen after all, that is not told any more: it has its address."""
        seen = {look.screen_id for look in self.looks}
        for number in group:
            look = self.looks[number]
            for candidate in () if look.answer is None else look.answer.candidates:
                if candidate.screen_id in seen:
                    continue
                patterns = (await knowledge.screen(candidate.screen_id)).url_patterns
                if any(
                    matches(each, look.page.url, authored_base=self._website.base_url, base=self.base)
                    for each in patterns
                ):
                    return (
                        f"its address is that of the known screen {candidate.screen_id}, whose signature says no: "
                        f"{candidate.because}; see `periplus kb check`"
                    )
        return None

    def _proposed(self, name: str, group: Sequence[int], steps: tuple[int, ...]) -> ProposedScreen:
        screen_id = self.labelled[group[0]].screen or ""
        learned = learn(screen_id, self.labelled)
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


async def _tried(
    stores: Stores,
    website_id: str,
    survey: _Survey,
    proposed: Sequence[ProposedScreen],
    refused: list[RefusedScreen],
) -> list[ProposedScreen]:
    """Those that fit beside what is known, and with which every page is told right."""
    knowledge, _ = await read_knowledge(stores.documents, stores.graph, website_id)
    kept = list(proposed)
    while kept:
        screens = [each.screen for each in kept]
        try:
            together, _ = assemble([Sourced(each) for each in (*knowledge.documents(), *screens)])
        except KnowledgeError as exc:
            wrong = _blamed(exc, screens)
        else:
            async with trial_stores(together) as trial, desk_client(trial) as client:
                wrong = await _mistaken(Knowledge(client, website_id, survey.base), survey, screens)
        if not wrong:
            return kept
        refused += [
            RefusedScreen(e.screen.name, wrong[e.screen.screen_id], e.steps)
            for e in kept
            if e.screen.screen_id in wrong
        ]
        kept = [each for each in kept if each.screen.screen_id not in wrong]
    return kept


def _blamed(error: KnowledgeError, screens: Sequence[Screen]) -> dict[str, str]:
    """Which of the screens break a rule, and how. Raises the error where none of them does."""
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


async def _mistaken(knowledge: Knowledge, survey: _Survey, screens: Sequence[Screen]) -> dict[str, str]:
    """Screens for which a page of another is taken, or that are not told on their own."""
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
                wrong[str(screen_id)] = f"{page.path} would be told as {told}"
    return wrong
