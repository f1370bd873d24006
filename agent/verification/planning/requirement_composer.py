"""Turns drafts of every format into requirements: checks actions, outcomes, URLs and files.

All problems are collected. Nothing is guessed: likely meanings are offered as suggestions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from agent.verification.planning.requirement_drafts import LocatedText, RequirementDraft, StepDraft, slug
from agent.verification.planning.requirement_problems import RequirementProblem
from kb_schema.action_types import ACTION_TYPES, action_type, canonical
from kb_schema.base import LONGEST_TIMEOUT_S
from kb_schema.documents import did_you_mean
from kb_schema.excerpts import excerpt
from kb_schema.expected_outcomes import (
    JUDGED,
    OUTCOMES,
    OutcomesUnreadable,
    element_and_region,
    parse_outcomes,
)
from kb_schema.placeholders import PlaceholderInvalid, find_secret_names, is_open, parts, secret_names
from kb_schema.secret_placement import FIX as SECRET_FIX
from kb_schema.verification import (
    ExpectedOutcome,
    Requirement,
    RequirementStep,
    SourceLocation,
)

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
"""The nine actions of PACTS 4.4 (`type` is a `fill` key by key), and uploading files and opening addresses.
"""
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
"""The same, as requirements write them."""
_MEANT = {
    "enter": "fill",
    "set": "fill",
    "write": "fill",
    "input": "fill",
    "clear": "fill",
    "choose": "select",
    "pick": "select",
    "tick": "check",
    "untick": "uncheck",
    "open": "navigate",
    "go": "navigate",
    "go_to": "navigate",
    "visit": "navigate",
    "tap": "click",
    "submit": "click",
    "attach": "upload",
    "key": "press",
    "double_click": "click",
    "verify": "",
    "assert": "",
    "see": "",
    "expect": "",
}
"""Common words for actions: suggested, never assumed. Empty: the word names an expected outcome."""
_NOT_SPOKEN = {
    "drag": "a requirement cannot drag: name the button, menu or key that does the same, or record it with `periplus record`"
}
"""Actions that runs have and requirements do not, with what to do."""
_TYPED = frozenset({"type", "type_text"})
_NEEDS_VALUE = frozenset({"fill", "select_option", "press", "upload_file", "navigate"})
_REQ_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
LONGEST = 10_000
"""Limit for a value or a cell with outcomes, in characters."""


def is_misspelt_action(text: str) -> bool:
    """Return whether a text is nearly an action."""
    name = _action_name(text)
    return bool(name and did_you_mean(name, SPOKEN))


def unknown_action_problem(said: LocatedText) -> RequirementProblem:
    """Return the problem of an action that is not known, with the action that was perhaps meant."""
    name = _action_name(said.text)
    if name in _NOT_SPOKEN or name.partition("_")[0] in _NOT_SPOKEN:
        fix = _NOT_SPOKEN[name.partition("_")[0]]
    elif _MEANT.get(name, "x") == "":
        fix = "leave the action empty, and write the expected outcome into its own column"
    elif name in _MEANT:
        fix = f'did you mean "{_MEANT[name]}"?'
    else:
        fix = did_you_mean(name, SPOKEN) or f"use one of {', '.join(SPOKEN)}"
    return RequirementProblem(said.place, f"unknown action {excerpt(said.text.strip())!r}", fix)


def _action_name(text: str) -> str:
    return re.sub(r"[\s-]+", "_", text.strip().lower())


class RequirementComposer:
    """Makes requirements of drafts and collects the problems."""

    def __init__(self, *, default_url: str | None = None) -> None:
        self._default_url = default_url
        self.problems: list[RequirementProblem] = []
        self._known: dict[str, tuple[str, SourceLocation]] = {}

    def problem(self, place: SourceLocation, message: str, fix: str) -> None:
        """Note a problem."""
        self.problems.append(RequirementProblem(place, message, fix))

    def compose(self, draft: RequirementDraft) -> Requirement | None:
        """Return the requirement of a draft; None if a problem was noted."""
        before = len(self.problems)
        req_id = self._req_id(draft)
        url = self._url(draft)
        for said in (draft.req_id, draft.title, draft.url, draft.login, *draft.tags):
            self._refuse_secrets(said)
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

    def _req_id(self, draft: RequirementDraft) -> str:
        said = draft.req_id or LocatedText(draft.fallback_id, draft.place)
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
                "is used twice"
                if other == req_id
                else f"is too similar to {other}: their tests would have the same name"
            )
            self.problem(said.place, f"Req ID {req_id} {same}", f"rename it, or the one in {place}")
        else:
            self._known[alike] = (req_id, said.place)
        return req_id

    def _url(self, draft: RequirementDraft) -> str:
        said = draft.url or (LocatedText(self._default_url, draft.place) if self._default_url else None)
        url = said.text.strip() if said else ""
        if said is None or not url:
            self.problem(
                draft.place,
                "it has no URL to begin at",
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

    def _refuse_secrets(self, said: LocatedText | None) -> None:
        """Note a problem for each secret in a text that is not typed into a field."""
        if said is None:
            return
        for name in find_secret_names(said.text):
            self.problem(said.place, f"{{secret:{name}}} is not allowed here", SECRET_FIX)

    # -- steps -------------------------------------------------------------------------------------

    def _step(self, draft: RequirementDraft, step: StepDraft) -> RequirementStep | None:
        before = len(self.problems)
        action, typed = self._action(step)
        if not action or not ACTION_TYPES[action].types_text:
            self._refuse_secrets(step.value)
        intent, element, region = self._element(step, action)
        value = self._value(draft, step, action)
        expected = self._expected(step, has_element=bool(element))
        timeout_s = self._timeout(step.timeout or draft.timeout)
        if not action and not expected and len(self.problems) == before:
            self.problem(
                step.place, "nothing to do and nothing to expect", "name an action, or an expected outcome"
            )
        if len(self.problems) > before:
            return None
        return RequirementStep(
            intent=intent,
            element=element,
            region=region,
            action=action,
            typed=typed,
            value=value,
            expected=expected,
            timeout_s=timeout_s,
            place=step.place,
        )

    def _timeout(self, said: LocatedText | None) -> float | None:
        if said is None or not said.text.strip():
            return None
        text = re.sub(r"\s*s(ec(onds?)?)?$", "", said.text.strip().lower())
        seconds = float(text) if re.fullmatch(r"\d{1,6}(\.\d{1,6})?", text) else 0.0
        if 0 < seconds <= LONGEST_TIMEOUT_S:
            return seconds
        fix = f"write the seconds that an element or outcome may take, such as 10; at most {LONGEST_TIMEOUT_S:g}"
        if not any(each.place == said.place and "timeout" in each.message for each in self.problems):
            self.problem(said.place, f"{excerpt(said.text.strip())!r} is no timeout", fix)
        return None

    def _action(self, step: StepDraft) -> tuple[str, bool]:
        said = step.action
        name = _action_name(said.text) if said else ""
        if said is None or not name:
            if step.value is not None and (step.value.text or step.exact):
                self.problem(step.place, "a value without an action", f"name one of {', '.join(SPOKEN)}")
            return "", False
        found = canonical(name)
        if found in ACTIONS:
            return found or "", name in _TYPED
        self.problems.append(unknown_action_problem(said))
        return "", False

    def _element(self, step: StepDraft, action: str) -> tuple[str, str, str | None]:
        """Return the text as written, the element and its region."""
        written, region = _text(step.element), _text(step.region) or None
        if not written:
            needed = action and ACTION_TYPES[action].target == "required"
            if needed or region:
                self.problem(step.place, "the element is missing", "write Element or Element@Region")
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
            self.problem(place, f"two regions: {own!r} and {region!r}", "give the region once")
        return (f"{written}@{region}" if own is None and region else written), element, own or region

    def _check_names(self, place: SourceLocation, *names: str | None) -> None:
        """Check a name: it may contain `{unique}`, but no secret, since secrets are not visible on a page."""
        try:
            hidden = secret_names(*names)
        except PlaceholderInvalid as exc:
            self.problem(place, f"{excerpt(exc.said)!r} is not a placeholder", exc.fix)
            return
        if hidden:
            self.problem(
                place,
                f"an element's name contains the secret {hidden[0]}",
                "use the name that the page shows",
            )

    def _value(self, draft: RequirementDraft, step: StepDraft, action: str) -> str | None:
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
        return self._checked_value(draft, LocatedText(text, place), action)

    def _checked_value(self, draft: RequirementDraft, said: LocatedText, action: str) -> str:
        text = said.text
        try:
            parts(text)
        except PlaceholderInvalid as exc:
            self.problem(said.place, f"{excerpt(exc.said)!r} is not a placeholder", exc.fix)
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

    def _file(self, draft: RequirementDraft, said: LocatedText) -> str:
        """Return the absolute path of a file to upload."""
        if is_open(said.text) or not draft.checks_files:
            return said.text
        path = Path(said.text).expanduser()
        if not path.is_absolute() and draft.folder is None:
            self.problem(
                said.place, f"{excerpt(said.text)!r} is a relative path", "give the absolute path of the file"
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

    def _expected(self, step: StepDraft, *, has_element: bool) -> tuple[ExpectedOutcome, ...]:
        found: list[tuple[ExpectedOutcome, SourceLocation]] = [
            (outcome, step.place) for outcome in step.outcomes
        ]
        for said in step.expected:
            if len(said.text) > LONGEST:
                self.problem(
                    said.place, f"expected outcomes of {len(said.text):,} characters", "write shorter ones"
                )
                continue
            try:
                found += [(outcome, said.place) for outcome in parse_outcomes(said.text)]
            except OutcomesUnreadable as exc:
                self.problems += [
                    RequirementProblem(said.place, each.message, each.fix) for each in exc.problems
                ]
        for outcome, place in found:
            if OUTCOMES[outcome.kind].about == "element" and outcome.element is None and not has_element:
                value = "=" + outcome.value if outcome.value else ""
                self.problem(
                    place,
                    f"{excerpt(outcome.said)!r} is about an element, and the step has none",
                    f"name it: {outcome.kind}:Element{excerpt(value)}",
                )
        if found and all(outcome.kind == JUDGED for outcome, _ in found):
            self.problem(
                found[0][1],
                "a language model's judgement must not decide alone",
                "add an outcome to the step that needs no model, such as shows:TEXT or navigates_to:PAGE",
            )
        return tuple(outcome for outcome, _ in found)


def compose_requirements(
    drafts: Sequence[RequirementDraft], *, default_url: str | None = None
) -> tuple[list[Requirement], list[RequirementProblem]]:
    """Return the requirements of valid drafts, and the problems of the others."""
    composer = RequirementComposer(default_url=default_url)
    found = [composer.compose(draft) for draft in drafts]
    return [each for each in found if each is not None], composer.problems


def _text(said: LocatedText | None) -> str:
    return said.text.strip() if said else ""


def _tags(said: tuple[LocatedText, ...]) -> tuple[str, ...]:
    found = (tag.strip() for each in said for tag in re.split(r"[,;\n]", each.text))
    return tuple(dict.fromkeys(tag for tag in found if tag))


def _is_address(text: str) -> bool:
    """Return whether the text is an absolute http(s) URL or a path on the site."""
    if any(char.isspace() for char in text):
        return False
    if text.startswith("/"):
        return not text.startswith("//")
    try:
        parsed = urlsplit(text)
        return parsed.scheme in ("http", "https") and bool(parsed.hostname)
    except ValueError:
        return False
