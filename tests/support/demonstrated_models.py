"""Scripted models that know a job from a recorded demonstration: a good, a mediocre and a bad policy.

As a real model does, they get a sentence and outlines of pages over HTTP, and answer with references that the outline shows. What
they know beside that is what a person did with the same values: the names of the controls, and what was entered.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, cast

from agent.locators.control_names import call_control, has_letters
from agent.locators.page_index import IndexedElement
from kb_schema.page_snapshots import PageSnapshot
from kb_schema.sentence_plans import list_plain_words
from tests.support.model_policies import PAGE, page_of, wants_plan
from tests.support.model_server import Answer, Asked
from web_pages.stored_pages import StoredPage

Policy = Literal["good", "mediocre", "bad"]
_CONTROL = re.compile(r'^\s*(e\d+) (\S+) (?:"(.*?)"|\(no name(?:, [^)]*)?\))(.*)$')
SENTENCE = re.compile(r"The person's sentence: (.*)")
_DOABLE = frozenset({"click", "double_click", "fill", "select_option", "check", "uncheck"})
_TICKED = frozenset({"checkbox", "radio", "switch", "menuitemcheckbox", "menuitemradio"})
_SWITCHES = {
    "check": re.compile(r"(?:turn on|enable|show|switch on)\b", re.IGNORECASE),
    "uncheck": re.compile(r"(?:turn off|disable|hide|switch off)\b", re.IGNORECASE),
}
_UNDOES = re.compile(r"(?:un[a-z]+|remove|withdraw|cancel)\b", re.IGNORECASE)
STUBBORN = 2
"""Requests in which nothing was done after which a good model gives up."""
SHORTEST_TITLE = 6
"""Characters of a title by which an entry with more words is found."""
SHORTEST_CUT = 20
"""The same of one of which the outline shows only the beginning."""
CLICKABLE = "clickable"
"""What an outline calls a control without a role."""
PLAIN_WORD = 0.05
"""What a plain word of the sentence beside a control counts; a text of the sentence is 1."""
MISTAKES = 0.25
"""The share of answers in which a mediocre model makes a mistake."""


@dataclass(frozen=True, slots=True)
class ShownStep:
    """One action of a demonstration, as a person would describe it."""

    action: str
    role: str
    names: tuple[str, ...]
    """What the control is called, the best first."""
    row: tuple[str, ...] = ()
    """Texts of its row, or beside it."""
    value: str | None = None

    @property
    def name(self) -> str:
        return self.names[0] if self.names else ""


@dataclass(frozen=True, slots=True)
class KnownJob:
    """A sentence, the plan for it, and what a person did."""

    sentence: str
    plan: Mapping[str, Any]
    steps: tuple[ShownStep, ...]
    told: tuple[str, ...] = ()
    """Texts of the sentence."""


def read_demonstration(session: Path) -> tuple[ShownStep, ...]:
    """Return the steps of a recorded session, without the way there: opening the page, and signing in."""
    lines = (session / "turn_001" / "session.jsonl").read_text(encoding="utf-8").splitlines()
    actions = [json.loads(line) for line in lines]
    secret = max((at for at, each in enumerate(actions) if each["metadata"].get("secret")), default=-1)
    if secret >= 0:
        sent = next(
            at for at, each in enumerate(actions) if at > secret and each["action_type"] in ("click", "press")
        )
        actions = actions[sent + 1 :]
    steps: list[ShownStep] = []
    for each in actions:
        step = _read_step(each)
        if step is None:
            continue
        typed = step.action in ("fill", "select_option")
        again = steps and (steps[-1].action, steps[-1].names, steps[-1].row) == (
            step.action,
            step.names,
            step.row,
        )
        if typed and again:
            steps.pop()  # typed once more, for example after a slip
        steps.append(step)
    return tuple(steps)


def _read_step(action: Mapping[str, Any]) -> ShownStep | None:
    if action["action_type"] not in _DOABLE:
        return None
    print_of = action["metadata"].get("fingerprint") or {}
    attributes = print_of.get("attributes") or {}
    names = [_call_printed(print_of), *(print_of.get(each) for each in ("label", "name", "text"))]
    names += [attributes.get("placeholder"), attributes.get("title")]
    before = print_of.get("before")
    names += [] if any(names) else [before]
    row = [*(print_of.get("row") or ()), *(print_of.get("key") or ()), *([before] if before else ())]
    place = print_of.get("place")
    if not any(names) and isinstance(place, int) and place < len(row):
        names = [row[place]]  # a form in rows: the texts name the fields in their order
    return ShownStep(
        action["action_type"],
        print_of.get("role") or "",
        tuple(dict.fromkeys(each for each in names if each)),
        tuple(dict.fromkeys(row)),
        action["args"].get("value"),
    )


def _call_printed(print_of: Mapping[str, Any]) -> str:
    """Return what an outline calls the control of a fingerprint: an icon that a person knows by its picture, too."""
    attributes = print_of.get("attributes") or {}
    known = {name: print_of.get(name) or "" for name in ("label", "name", "text", "icon")}
    element = SimpleNamespace(
        **known, role=print_of.get("role"), attributes=attributes, placeholder=attributes.get("placeholder", ""),
        classes=tuple(attributes.get("class", "").split()), id=attributes.get("id"),
    )  # fmt: skip
    return call_control(cast("IndexedElement", element))


def find_control_change(
    session: Path, steps: Sequence[ShownStep], values: Iterable[str], sentence: str
) -> list[dict[str, Any]]:
    """Return the control that was pressed last, as one that says itself that the job is done, beside the values
    with which a text of its page begins."""
    last = steps[-1] if steps else None
    if last is None or last.action != "click" or not has_letters(last.name):
        return []
    lines = (session / "turn_001" / "session.jsonl").read_text(encoding="utf-8").splitlines()
    html = _read_html(session, json.loads(lines[-1]), "body_html_before_last_action")
    told = [each for each in values if _fold(each) in _fold(sentence)]
    beside = [each for each in told if re.search(rf">\s*{re.escape(escape(each, quote=False))}", html)]
    return [{"control": last.name, "beside": beside[:3], "on": _UNDOES.match(sentence) is None}]


def is_undone(changed: Sequence[Mapping[str, Any]], sentence: str) -> bool:
    """Whether the sentence undoes what the control that changes stands for, as in "Remove the bookmark": what it was done to stays."""
    verb, *more = _fold(sentence).split()
    return any(
        verb not in (called := _fold(each["control"]).split()) and set(called) <= set(more)
        for each in changed
    )


def find_changed_texts(session: Path, values: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the values that the last page of a session shows more often than before the last press that sent something, and
    those that are gone from it.
    """
    lines = (session / "turn_001" / "session.jsonl").read_text(encoding="utf-8").splitlines()
    actions = [json.loads(line) for line in lines]
    sending = next((each for each in reversed(actions) if each["metadata"].get("answers")), actions[-1])
    first = _read_page(session, sending, "body_html_before_last_action")
    last = _read_page(session, actions[-1], "body_html_after_last_action")
    told = [each for each in values if len(each) > 1]
    shown = [each for each in told if last.count(_fold(each)) > first.count(_fold(each))]
    return shown, [] if shown else [each for each in told if _fold(each) in first and _fold(each) not in last]


def _read_html(session: Path, action: Mapping[str, Any], which: str) -> str:
    return (session / "turn_001" / action[which]["__parts_file__"]).read_text(encoding="utf-8")


def _read_page(session: Path, action: Mapping[str, Any], which: str) -> str:
    html = _read_html(session, action, which)
    page = PageSnapshot(url=action["source_url"], html=html, annotated=True)
    return _fold(StoredPage(page).text)


def find_switches(
    steps: Sequence[ShownStep], values: Iterable[str], sentence: str
) -> tuple[list[str], list[str]]:
    """Return the values that name a box which is ticked in the end, and those of one that is not.

    A press of what has no role is one if the sentence begins with a verb that says which.
    """
    verb = next((action for action, begins in _SWITCHES.items() if begins.match(sentence)), None)
    ticks = {
        each.names: replace(each, action=verb if verb and each.action == "click" else each.action)
        for each in steps
        if each.action in ("check", "uncheck") or (verb and each.action == "click" and not each.role)
    }
    told = [_fold(each) for each in values if len(each) > 1]
    on, off = (
        [
            words
            for each in ticks.values()
            if each.action == action
            for words in told
            if any(words in _fold(name) for name in each.names)
        ]
        for action in ("check", "uncheck")
    )
    return on, off


def build_plan(
    steps: Sequence[ShownStep], *, name: str, start: str | None, shown: Sequence[str], gone: Sequence[str],
    on: Sequence[str] = (), off: Sequence[str] = (), changed: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:  # fmt: skip
    """Return the plan that a model would make who knows the application."""
    presses = [each.name for each in steps if each.action in ("click", "double_click", "check", "uncheck")]
    plan = {
        "name": name,
        "steps": [f"{each.action} {each.name}"[:200] for each in steps][:20],
        "controls": list(dict.fromkeys(each for each in presses if each))[:40],
        "entered": list(dict.fromkeys(each.value for each in steps if each.value))[:40],
        "shown_when_done": list(shown)[:5],
        "gone_when_done": list(gone)[:5],
        "on_when_done": list(on)[:5],
        "off_when_done": list(off)[:5],
        "changed_when_done": list(changed)[:5],
    }
    return plan | ({} if start is None else {"start_screen": start})


@dataclass
class DemonstratedModel:
    """Answers as a model of one policy. `jobs`: all sentences that it is asked; the first one's variants are the others."""

    policy: Policy
    jobs: Sequence[KnownJob]
    seed: str = ""
    _done: int = 0
    """Steps of the sentence that are done."""
    _told: int = 0
    """Acts that the run said were done, when it was last asked."""
    _last: str = ""
    """The control that was acted on last."""
    _sent: str = ""
    """What was answered last: `step`, `other`."""
    _stuck: int = 0
    _repeated: bool = False
    _dice: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self._dice = random.Random(f"{self.policy}/{self.seed}")

    def __call__(self, asked: Asked) -> Answer:
        if "further sentences" in asked.prompt:
            return Answer(tool={"sentences": [each.sentence for each in self.jobs[1:]]})
        said = SENTENCE.search(asked.prompt)
        job = next((each for each in self.jobs if said and each.sentence == said[1].strip()), None)
        if job is None:
            return Answer(tool={"kind": "give_up", "why": "I do not know how"})
        if wants_plan(asked):
            self._done = self._told = self._stuck = 0
            self._sent, self._last, self._repeated = "", "", False
            return Answer(tool=self._plan(job))
        self._note_progress(asked)
        return {"good": self._good, "mediocre": self._mediocre, "bad": self._bad}[self.policy](asked, job)

    def _plan(self, job: KnownJob) -> dict[str, Any]:
        if self.policy != "bad":
            return dict(job.plan)
        words = re.findall(r"\w+", job.sentence)
        wanted = [
            "Delete",
            "Logout",
            "Sign out",
            "Submit",
            "Save",
            "Create",
            "Edit",
            "Admin",
            "retire",
            *words,
        ]
        return {
            **job.plan,
            "controls": wanted[:40],
            "shown_when_done": words[:2],
            "gone_when_done": [],
            "on_when_done": [],
            "off_when_done": [],
            "changed_when_done": [{"control": each} for each in words[:1]],
        }

    def _note_progress(self, asked: Asked) -> None:
        blocks = PAGE.findall(asked.prompt)
        told = 0 if not blocks or blocks[0].strip() == "nothing" else len(blocks[0].strip().splitlines())
        if told > self._told and self._sent == "step":
            self._done += told - self._told
            self._stuck = 0
        elif self._sent == "step":
            self._stuck += 1
        self._told = told

    def _good(self, asked: Asked, job: KnownJob) -> Answer:
        """Do one step after the other; give up if one cannot be done."""
        if self._done >= len(job.steps):
            return self._answer({"kind": "done"})
        if self._stuck >= STUBBORN:
            return self._answer({"kind": "give_up", "why": "the control is not there, or may not be used"})
        step = job.steps[self._done]
        found = _find(asked, job, step, self._last)
        if found is None:
            self._sent = "step"
        self._last = found or self._last
        act = {"kind": "act", "element": found or "e9999", "action": step.action}
        if step.value is not None:
            act["value"] = step.value
        return self._answer(act, "step")

    def _mediocre(self, asked: Asked, job: KnownJob) -> Answer:
        """As a good model, with mistakes: unreadable answers, wrong elements and values, and a last press that is repeated."""
        finished = self._done >= len(job.steps)
        if finished and not self._repeated and job.steps:
            self._repeated = True
            last = _find(asked, job, job.steps[-1])
            if last is not None:
                return self._answer({"kind": "act", "element": last, "action": job.steps[-1].action})
        if self._dice.random() >= MISTAKES:
            return self._good(asked, job)
        return self._mistake(asked, job, None if finished else job.steps[self._done])

    def _mistake(self, asked: Asked, job: KnownJob, step: ShownStep | None) -> Answer:
        drawn = self._dice.choice(["text", "reference", "value", "hover", "garbage"])
        refs = [found[1] for line in page_of(asked).splitlines() if (found := _CONTROL.match(line))]
        if drawn == "text":
            return Answer("I would now press the button that says Save.")
        if drawn == "garbage":
            return Answer(tool={"kind": "perhaps"})
        act: dict[str, Any] = {"kind": "act", "element": "e9999", "action": "click"}
        if drawn == "value" and step is not None and step.value is not None:
            act |= {
                "element": _find(asked, job, step) or "e9999",
                "action": step.action,
                "value": "Lorem ipsum",
            }
        elif drawn == "hover" and refs:
            act |= {"element": self._dice.choice(refs), "action": "hover"}
        return self._answer(act)

    def _bad(self, asked: Asked, job: KnownJob) -> Answer:
        """Press and enter whatever there is, and claim that it is done."""
        lines = [found for line in page_of(asked).splitlines() if (found := _CONTROL.match(line))]
        if not lines or self._dice.random() < 0.12:
            return self._answer({"kind": "done"})
        chosen = self._dice.choice(lines)
        fields = chosen[2] in ("textbox", "searchbox", "combobox", "textarea", "input", "select")
        values = [*(each.value for each in job.steps if each.value), "Mallory", "12"]
        action = self._dice.choice(["fill", "select_option"]) if fields else "click"
        act = {"kind": "act", "element": chosen[1], "action": action}
        return self._answer({**act, "value": self._dice.choice(values)} if fields else act)

    def _answer(self, act: Mapping[str, Any], kind: str = "other") -> Answer:
        self._sent = kind
        return Answer(tool=dict(act))


def _find(asked: Asked, job: KnownJob, step: ShownStep, last: str = "") -> str | None:
    plan = job.plan
    named = [*plan["shown_when_done"], *plan["gone_when_done"], *plan["entered"], *job.told]
    return find_control(page_of(asked), step, named, list_plain_words(job.sentence), last)


def find_control(
    page: str, step: ShownStep, named: Sequence[str] = (), plain: Sequence[str] = (), last: str = ""
) -> str | None:
    """Return the reference of the control that a step means in an outline; None if none is called so.

    `named`: texts of the sentence; of controls that are called alike, the one beside such a text is meant. `plain`: its other words; of
    controls that are as good otherwise, the one beside most of them. `last`: the control that was acted on last; of those that are still as
    good, the first one behind it.
    """
    best, found, before, passed = 0.0, None, True, False
    for line in page.splitlines():
        control = _CONTROL.match(line)
        if control is None:
            continue
        score = _rate(step, control[2], control[3] or "", control[4])
        shown = _fold(line.strip().partition(" ")[2])  # without the reference: `e27` is no 7
        score += bool(score) and sum(_fold(each) in shown for each in named)
        beside = shown.partition(" @ after ")[2]
        score += 0.5 * (bool(score) and any(each and beside.startswith(_fold(each)) for each in named))
        said = set(re.findall(r"\w+", shown))
        score += PLAIN_WORD * (bool(score) and sum(each in said for each in plain))
        if score > best or (score and score == best and before and passed):
            best, found, before = score, control[1], not passed
        passed = passed or control[1] == last
    return found


def _rate(step: ShownStep, role: str, name: str, rest: str) -> float:
    """Return how well a line of an outline fits a step; 0: not at all."""
    if step.action in ("check", "uncheck") and role not in _TICKED:
        return 0.0
    if not (step.names or step.row):
        return 1.0 if role == step.role and not name else 0.0
    row = _fold(rest.partition("@ row ")[2].partition(" @ ")[0] or rest.partition("@ after ")[2])
    said = _fold(name)
    texts = [*map(_fold, step.row), *(text for each in step.names if (text := _fold(each)) != said)]
    in_row = bool(row) and any(each and (each.startswith(row) or row.startswith(each)) for each in texts)
    called = max(
        (_alike(said, _fold(each)) - 0.05 * at for at, each in enumerate(step.names) if said and each),
        default=0.0,
    )
    called = max(called, 0.0)
    if not called and not (in_row and role == (step.role or CLICKABLE)):
        return 0.0
    kind = 1.0 if role == step.role else 0.0 if step.role else 0.3
    return 4.0 * called + 2.0 * in_row + kind


def _alike(said: str, name: str) -> float:
    """Return how well a name in an outline is that of a step: an entry has more words than its title."""
    cut = said.rstrip("\N{HORIZONTAL ELLIPSIS}")
    if said == name or (cut != said and name.startswith(cut)):
        return 1.0
    if len(name) >= SHORTEST_TITLE and name in said:
        return 0.5
    shown = (cut[at:] for at in range(1, len(cut) - SHORTEST_CUT + 1) if cut[at - 1] == " ")
    return 0.5 if cut != said and any(map(name.startswith, shown)) else 0.0


def _fold(text: str) -> str:
    return " ".join(text.split()).casefold()
