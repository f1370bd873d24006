"""From drafts to requirements: actions, outcomes, URLs and files are judged here, for every format alike.

All problems are collected; nothing is guessed, and what may have been meant is said as a suggestion.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from agent.verifying.planning.drafts import Draft, Said, StepDraft, slug
from agent.verifying.planning.problems import Problem
from kb_schema.documents import did_you_mean
from kb_schema.excerpts import excerpt
from kb_schema.outcomes import OUTCOMES, OutcomesUnreadable, element_and_region, parse_outcomes
from kb_schema.placeholders import PlaceholderInvalid, is_open, parts, secret_names
from kb_schema.verification import Intent, Outcome, Place, Requirement
from kb_schema.vocabulary import ACTION_TYPES, action_type, canonical

ACTIONS = (
    "click",
    "fill",
    "press",
    "select_option",
    "check",
    "uncheck",
    "hover",
    "focus",
    "upload_file",
    "navigate",
)
"""PACTS 4.4's nine, of which `type` is a `fill` key by key, and giving files and opening addresses."""
SPOKEN = (
    "click",
    "fill",
    "type",
    "press",
    "select",
    "check",
    "uncheck",
    "hover",
    "focus",
    "upload",
    "navigate",
)
"""The same as requirements say them."""
_MEANT = {
    "enter": "fill", "set": "fill", "write": "fill", "input": "fill", "clear": "fill", "choose": "select",
    "pick": "select", "tick": "check", "untick": "uncheck", "open": "navigate", "go": "navigate", "go_to": "navigate",
    "visit": "navigate", "tap": "click", "submit": "click", "attach": "upload", "key": "press", "drag": "click",
    "double_click": "click", "verify": "", "assert": "", "see": "", "expect": "",
}  # fmt: skip
"""Words people use for actions: suggested, never assumed. Empty: it is an expected outcome."""
_TYPED = frozenset({"type", "type_text"})
_NEEDS_VALUE = frozenset({"fill", "select_option", "press", "upload_file", "navigate"})
_REQ_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
LONGEST = 10_000
"""Characters of a value or of a cell with outcomes."""


class Composer:
    """Makes requirements of drafts and keeps what is wrong with them."""

    def __init__(self, *, default_url: str | None = None) -> None:
        self._default_url = default_url
        self.problems: list[Problem] = []
        self._known: dict[str, tuple[str, Place]] = {}

    def problem(self, place: Place, message: str, fix: str) -> None:
        """Note something that is wrong."""
        self.problems.append(Problem(place, message, fix))

    def compose(self, draft: Draft) -> Requirement | None:
        """The requirement of a draft; None where a problem was noted."""
        before = len(self.problems)
        req_id = self._req_id(draft)
        url = self._url(draft)
        steps = [self._step(draft, step) for step in draft.steps]
        if not draft.steps:
            self.problem(draft.place, f"{req_id} has no steps", "write at least one step, or remove it")
        if len(self.problems) > before:
            return None
        return Requirement(
            req_id=req_id,
            title=_text(draft.title),
            url=url,
            login=_text(draft.login) or None,
            tags=_tags(draft.tags),
            steps=tuple(step for step in steps if step is not None),
            place=draft.place,
        )

    def _req_id(self, draft: Draft) -> str:
        said = draft.req_id or Said(draft.fallback_id, draft.place)
        req_id = said.text.strip()
        if not _REQ_ID.fullmatch(req_id):
            self.problem(
                said.place,
                f"{excerpt(req_id)!r} cannot be a Req ID",
                f"use letters, digits, _, . and - only: {slug(req_id)}",
            )
        alike = re.sub(r"\W", "_", req_id, flags=re.ASCII).lower()
        if alike in self._known:
            other, place = self._known[alike]
            same = (
                "is there twice"
                if other == req_id
                else f"is too much like {other}: their tests would share a name"
            )
            self.problem(said.place, f"Req ID {req_id} {same}", f"rename it, or the one in {place}")
        else:
            self._known[alike] = (req_id, said.place)
        return req_id

    def _url(self, draft: Draft) -> str:
        said = draft.url or (Said(self._default_url, draft.place) if self._default_url else None)
        url = said.text.strip() if said else ""
        if said is None or not url:
            self.problem(
                draft.place,
                "no URL says where it begins",
                "add a URL (a row `URL`, or a column), or give one with --url",
            )
        elif not _is_address(url):
            meant = (
                f"https://{url}"
                if re.match(r"[\w-]+(\.[\w-]+)+", url)
                else "https://... or a path such as /login"
            )
            self.problem(said.place, f"{excerpt(url)!r} is no URL", f"write {excerpt(meant)}")
        return url

    # -- steps -------------------------------------------------------------------------------------

    def _step(self, draft: Draft, step: StepDraft) -> Intent | None:
        before = len(self.problems)
        action, typed = self._action(step)
        intent, element, region = self._element(step, action)
        value = self._value(draft, step, action)
        expected = self._expected(step, has_element=bool(element))
        if not action and not expected and len(self.problems) == before:
            self.problem(
                step.place, "nothing to do and nothing to expect", "name an action, or an expected outcome"
            )
        if len(self.problems) > before:
            return None
        return Intent(
            intent=intent,
            element=element,
            region=region,
            action=action,
            typed=typed,
            value=value,
            expected=expected,
            place=step.place,
        )

    def _action(self, step: StepDraft) -> tuple[str, bool]:
        said = step.action
        name = re.sub(r"[\s-]+", "_", said.text.strip().lower()) if said else ""
        if said is None or not name:
            if step.value is not None and (step.value.text or step.exact):
                self.problem(
                    step.place, "a value, and no action to use it", f"name one of {', '.join(SPOKEN)}"
                )
            return "", False
        found = canonical(name)
        if found in ACTIONS:
            return found or "", name in _TYPED
        if _MEANT.get(name, "x") == "":
            fix = "leave the action empty, and write what is to be seen as the expected outcome"
        elif name in _MEANT:
            fix = f'did you mean "{_MEANT[name]}"?'
        else:
            fix = did_you_mean(name, SPOKEN) or f"use one of {', '.join(SPOKEN)}"
        self.problem(said.place, f"unknown action {excerpt(said.text.strip())!r}", fix)
        return "", False

    def _element(self, step: StepDraft, action: str) -> tuple[str, str, str | None]:
        """What is written, the element and its region."""
        written, region = _text(step.element), _text(step.region) or None
        if not written:
            needed = action and ACTION_TYPES[action].target == "required"
            if needed or region:
                self.problem(step.place, "no element is named", "write Element or Element@Region")
            return "", "", None
        place = step.element.place if step.element else step.place
        self._check_names(place, written, region)
        if action == "navigate":
            self.problem(
                place, "navigate needs no element", "leave the element empty, and put the URL into the value"
            )
        try:
            element, own = element_and_region(written)
        except ValueError as exc:
            message, _, fix = str(exc).partition(" -> ")
            self.problem(place, message, fix)
            return written, written, None
        if region is not None and own is not None and own != region:
            self.problem(place, f"two regions: {own!r} and {region!r}", "say the region once")
        return (f"{written}@{region}" if own is None and region else written), element, own or region

    def _check_names(self, place: Place, *names: str | None) -> None:
        """Names may hold `{unique}`; a secret is nothing people see."""
        try:
            hidden = secret_names(*names)
        except PlaceholderInvalid as exc:
            self.problem(place, f"{excerpt(exc.said)!r} is no placeholder", exc.fix)
            return
        if hidden:
            self.problem(
                place, f"a secret in an element's name: {hidden[0]}", "name the element by what people see"
            )

    def _value(self, draft: Draft, step: StepDraft, action: str) -> str | None:
        said = step.value
        text = None if said is None or (not said.text and not step.exact) else said.text
        kind = action_type(action) if action else None
        place = said.place if said and said.text else step.place
        if kind is None:
            return text
        if action not in _NEEDS_VALUE:
            if text:
                self.problem(place, f"{action} takes no value", "leave the value empty")
            return None
        if text == '""' and not step.exact:
            text = ""
        if text is None or (not text and action != "fill"):
            fix = f"write the value to {action}" + (', or "" to empty the field' if action == "fill" else "")
            self.problem(step.place, f"{action} needs a value", fix)
            return text
        return self._checked_value(draft, Said(text, place), action)

    def _checked_value(self, draft: Draft, said: Said, action: str) -> str:
        text = said.text
        try:
            parts(text)
        except PlaceholderInvalid as exc:
            self.problem(said.place, f"{excerpt(exc.said)!r} is no placeholder", exc.fix)
            return text
        if len(text) > LONGEST:
            self.problem(
                said.place, f"a value of {len(text):,} characters", f"at most {LONGEST:,} can be used"
            )
        elif action == "navigate" and not is_open(text) and not _is_address(text):
            self.problem(
                said.place, f"{excerpt(text)!r} is no URL", "write https://... or a path such as /login"
            )
        elif action == "upload_file":
            return self._file(draft, said)
        return text

    def _file(self, draft: Draft, said: Said) -> str:
        """The absolute path of a file that is uploaded."""
        if is_open(said.text):
            return said.text
        path = Path(said.text).expanduser()
        if not path.is_absolute() and draft.folder is None:
            self.problem(
                said.place, f"{excerpt(said.text)!r} is a relative path", "give the whole path of the file"
            )
            return said.text
        path = ((draft.folder or Path()) / path).resolve()
        if not path.is_file():
            self.problem(
                said.place,
                f"there is no file {excerpt(str(path))}",
                "correct the path, or put the file there",
            )
        return str(path)

    def _expected(self, step: StepDraft, *, has_element: bool) -> tuple[Outcome, ...]:
        found: list[tuple[Outcome, Place]] = [(outcome, step.place) for outcome in step.outcomes]
        for said in step.expected:
            if len(said.text) > LONGEST:
                self.problem(
                    said.place, f"expected outcomes of {len(said.text):,} characters", "write shorter ones"
                )
                continue
            try:
                found += [(outcome, said.place) for outcome in parse_outcomes(said.text)]
            except OutcomesUnreadable as exc:
                self.problems += [Problem(said.place, each.message, each.fix) for each in exc.problems]
        for outcome, place in found:
            if OUTCOMES[outcome.kind].about == "element" and outcome.element is None and not has_element:
                value = "=" + outcome.value if outcome.value else ""
                self.problem(
                    place,
                    f"{excerpt(outcome.said)!r} is about an element, and the step has none",
                    f"name it: {outcome.kind}:Element{excerpt(value)}",
                )
        return tuple(outcome for outcome, _ in found)


def compose_all(
    drafts: Sequence[Draft], *, default_url: str | None = None
) -> tuple[list[Requirement], list[Problem]]:
    """Requirements of drafts that are in order, and the problems of the others."""
    composer = Composer(default_url=default_url)
    found = [composer.compose(draft) for draft in drafts]
    return [each for each in found if each is not None], composer.problems


def _text(said: Said | None) -> str:
    return said.text.strip() if said else ""


def _tags(said: tuple[Said, ...]) -> tuple[str, ...]:
    found = (tag.strip() for each in said for tag in re.split(r"[,;\n]", each.text))
    return tuple(dict.fromkeys(tag for tag in found if tag))


def _is_address(text: str) -> bool:
    """An absolute http(s) URL, or a path on the site."""
    if any(char.isspace() for char in text):
        return False
    if text.startswith("/"):
        return not text.startswith("//")
    try:
        parsed = urlsplit(text)
        return parsed.scheme in ("http", "https") and bool(parsed.hostname)
    except ValueError:
        return False
