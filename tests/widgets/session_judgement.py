"""Judges a recorded session act by act: what each changed is in a step of its own, was asked about, or is lost.

The truth is what the page kept, with the moment and the event of the browser in which it did.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.widgets.noisy_person import NULL_ACTS, count_allowed, name_of
from tests.widgets.recorded_sessions import DoneAct, RecordedSession, SessionStep, SessionVisit, StateChange

LATE_MS = 80.0
"""How long into the next act a written step may be told: sliders are told when the page has drawn."""
ASKED_MS = 4_000.0
"""How long after an act a question about it may be asked."""
NOTHING_MS = 400.0
"""What is told this long after an act began that does nothing was told for nothing."""
WRITTEN = frozenset({"fill", "append_text"})
_WRITING = frozenset({"type", "slip", "undo", "keys", "compose", "autofill", "by_keys"})
"""Acts whose text may be told later, together with what is typed next."""
_LEAVING = frozenset({"change", "blur", "focusout"})
"""Events in which a page keeps a text that was typed before."""
_GOING = frozenset({"navigate", "refresh"})


@dataclass
class JudgedSession:
    """What came of a session: counts, and sentences about what is wrong."""

    library: str
    seed: int
    minutes: float
    visits: int = 0
    acts: int = 0
    changes: int = 0
    """Acts after which the page's state was another one."""
    held: int = 0
    asked: int = 0
    lost: list[str] = field(default_factory=list)
    invented: list[str] = field(default_factory=list)
    repeated: dict[str, int] = field(default_factory=dict)
    """Visits by what came of repeating them."""
    differing: list[str] = field(default_factory=list)
    """What came differently when repeated."""


def judge_session(session: RecordedSession) -> JudgedSession:
    """Return the counts of a session."""
    judged = JudgedSession(session.library, session.seed, session.minutes, visits=len(session.visits))
    for visit in session.visits:
        _judge_visit(judged, visit)
    judged.repeated = dict(Counter(each.repeated for each in session.visits))
    judged.differing = [
        f"{each.widget} {each.repeated}: {each.differs} | {_describe(each)}"
        for each in session.visits
        if each.differs
    ]
    return judged


def _describe(visit: SessionVisit) -> str:
    asked = "".join(f" | asked: {said}" for _, said in visit.asked)
    return f"steps: {'; '.join(each.said for each in visit.steps)} | acts: {[each.act for each in visit.acts]}{asked}"


def _judge_visit(judged: JudgedSession, visit: SessionVisit) -> None:
    judged.acts += len(visit.acts)
    questions = [at for at, _ in visit.asked]
    for number, changes in _find_changes(visit):
        judged.changes += 1
        done = visit.acts[number]
        if _has_step(visit, number) or _is_kept_on_leaving(done, changes, visit.steps):
            judged.held += 1
            continue
        # One question is about one press: it does not answer for what changed besides.
        answer = next((at for at in questions if done.begin <= at <= done.end + ASKED_MS), None)
        if answer is not None:
            questions.remove(answer)
            judged.asked += 1
        else:
            said = "; ".join(
                f"{each.key} -> {each.value!r} in {each.event or 'no event'}" for each in changes
            )
            judged.lost.append(f"{visit.widget}: {done.act}: {said} | {_describe(visit)}")
    judged.invented += _find_invented(visit)


def _find_changes(visit: SessionVisit) -> Iterator[tuple[int, list[StateChange]]]:
    """Yield each act that changed the state, with its changes.

    A change belongs to the last act before it that does something at all.
    """
    state: dict[str, Any] = {each.key: each.value for each in visit.first}
    kept = sorted((each for done in visit.acts for each in done.kept), key=lambda each: each.at)
    doing = [number for number, done in enumerate(visit.acts) if name_of(done.act) not in NULL_ACTS]
    for place, number in enumerate(doing):
        done = visit.acts[number]
        until = visit.acts[doing[place + 1]].begin if place + 1 < len(doing) else float("inf")
        own = [each for each in kept if done.begin <= each.at < until]
        former = dict(state) if "reload" not in done.act else {}
        state = former | {each.key: each.value for each in own}
        changes = [each for each in own if state[each.key] != former.get(each.key)]
        if changes and "reload" not in done.act:
            yield number, changes


def _until(visit: SessionVisit, number: int) -> float:
    """Return when the next act that does something began."""
    following = (each.begin for each in visit.acts[number + 1 :] if name_of(each.act) not in NULL_ACTS)
    return next(following, float("inf"))


def _has_step(visit: SessionVisit, number: int) -> bool:
    """Whether a step has the act: one of its moment, or the text that was typed with what came before or after."""
    done, until = visit.acts[number], _until(visit, number)
    writes = name_of(done.act) in _WRITING
    former = visit.begin
    for step in visit.steps:
        first = former if writes and step.kind in WRITTEN else step.time
        late = LATE_MS if step.kind in WRITTEN else 0.0
        if step.kind not in _GOING and first < until + late and step.time >= done.begin:
            return True
        former = step.time
    return False


def _is_kept_on_leaving(done: DoneAct, changes: Sequence[StateChange], steps: Sequence[SessionStep]) -> bool:
    """Whether the page kept only what the last step had typed, because its field was left."""
    written = [each for each in steps if each.time <= done.end]
    return (
        bool(written)
        and written[-1].kind in WRITTEN
        and all(each.event in _LEAVING and str(each.value) == written[-1].value for each in changes)
    )


def _find_invented(visit: SessionVisit) -> Iterator[str]:
    """Yield the steps of moments in which the person did nothing, and the kinds with more steps than acts allow."""
    for number, done in enumerate(visit.acts):
        if name_of(done.act) in NULL_ACTS:
            until = visit.acts[number + 1].begin if number + 1 < len(visit.acts) else done.end
            for step in visit.steps:
                if done.begin + NOTHING_MS < step.time < until:
                    yield f"{visit.widget}: {step.said} while the person did {done.act} | {_describe(visit)}"
    allowed = count_allowed(tuple(each.act for each in visit.acts))
    kinds = ("fill" if each.kind == "append_text" else each.kind for each in visit.steps)
    counted = Counter(each if each in allowed else "pointer" for each in kinds)
    for kind, count in counted.items():
        if count > allowed[kind]:
            yield f"{visit.widget}: {kind} {count} of {allowed[kind]} possible | {_describe(visit)}"
