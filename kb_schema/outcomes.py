"""The vocabulary of expected outcomes: what a step of a requirement may expect, and how it is written.

`kind`, `kind:value`, `kind:Element@Region=value`; several separated by `;` or line breaks. One registered
entry is one kind. How an outcome is found on a page and asserted is not told here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from kb_schema.documents import did_you_mean
from kb_schema.excerpts import excerpt
from kb_schema.placeholders import PlaceholderInvalid, parts, secret_names
from kb_schema.verification import Outcome

About = Literal["element", "page"]
Takes = Literal["never", "may", "must"]


@dataclass(frozen=True, slots=True)
class OutcomeKind:
    """One kind of expected outcome."""

    name: str
    summary: str
    about: About
    """`element`: the step's own, or the one that is named; `page`: what is behind the colon is the value."""
    value: Takes = "never"
    bare: Literal["element", "value"] = "value"
    """What `kind:WORDS` means where there is no `=`: an element, or a value for the step's own element."""
    aliases: tuple[str, ...] = ()


OUTCOMES: dict[str, OutcomeKind] = {}
_BY_NAME: dict[str, str] = {}


def register(kind: OutcomeKind) -> OutcomeKind:
    """Add a kind. Raises `ValueError` if a name is taken."""
    for name in (kind.name, *kind.aliases):
        if name in _BY_NAME:
            raise ValueError(f"outcome name {name!r} is taken by {_BY_NAME[name]!r}")
        _BY_NAME[name] = kind.name
    OUTCOMES[kind.name] = kind
    return kind


for _kind in (
    OutcomeKind("field_populated", "A field has a value (PACTS 8.1); in the step that fills it: the step's value",
                "element", bare="element", aliases=("populated", "filled", "field_filled", "not_empty")),
    OutcomeKind("field_value", "A field's value is this", "element", "must",
                aliases=("value", "has_value", "value_is", "field_has_value")),
    OutcomeKind("field_empty", "A field has no value", "element", bare="element",
                aliases=("empty", "is_empty", "cleared", "field_cleared")),
    OutcomeKind("checked", "A checkbox, radio button or switch is on", "element", bare="element",
                aliases=("is_checked", "ticked", "switched_on")),
    OutcomeKind("unchecked", "A checkbox, radio button or switch is off", "element", bare="element",
                aliases=("is_unchecked", "not_checked", "unticked", "switched_off")),
    OutcomeKind("selected", "A list's chosen option is this; without a value: the tab, option or row is selected",
                "element", "may", aliases=("is_selected", "option_selected", "selected_option")),
    OutcomeKind("focused", "An element has the keyboard focus", "element", bare="element",
                aliases=("is_focused", "has_focus")),
    OutcomeKind("enabled", "An element can be used", "element", bare="element", aliases=("is_enabled", "active")),
    OutcomeKind("disabled", "An element cannot be used", "element", bare="element",
                aliases=("is_disabled", "inactive", "greyed_out")),
    OutcomeKind("visible", "An element can be seen", "element", bare="element",
                aliases=("is_visible", "displayed", "appears", "element_visible", "exists", "present")),
    OutcomeKind("hidden", "An element cannot be seen, or is not there", "element", bare="element",
                aliases=("is_hidden", "not_visible", "disappears", "element_hidden", "gone", "absent")),
    OutcomeKind("text", "An element's text is this, white space and the element's own name aside",
                "element", "must", aliases=("has_text", "element_text", "text_is")),
    OutcomeKind("invalid", "A field is marked as invalid, and says this message where one is given", "element", "may",
                bare="element", aliases=("error", "is_invalid", "field_invalid", "field_error", "validation_error")),
    OutcomeKind("count", "So many elements of this name are there", "element", "must",
                aliases=("number_of", "has_count", "element_count")),
    OutcomeKind("navigates_to", "A page opened: its name, title, heading or path (PACTS 8.1)", "page", "must",
                aliases=("navigate_to", "goes_to", "opens_page", "opens", "redirects_to", "lands_on", "page")),
    OutcomeKind("stays_on_page", "The page is still the one the step was done on", "page",
                aliases=("stays", "no_navigation", "remains_on_page", "same_page")),
    OutcomeKind("url", "The address is, or its path is, this; `*` stands for anything", "page", "must",
                aliases=("url_is", "address", "path", "has_url")),
    OutcomeKind("title", "The title of the document is this", "page", "must",
                aliases=("page_title", "title_is", "has_title")),
    OutcomeKind("heading", "A visible heading says this", "page", "must",
                aliases=("heading_is", "has_heading", "headline")),
    OutcomeKind("shows", "A visible text anywhere on the page contains this", "page", "must",
                aliases=("see", "sees", "contains", "shows_text", "text_visible", "displays", "page_shows")),
    OutcomeKind("not_shows", "No visible text of the page contains this", "page", "must",
                aliases=("does_not_show", "not_see", "hides_text", "not_contains", "no_text", "text_hidden")),
    OutcomeKind("message", "A toast, alert or status region says this; without a value: says something", "page", "may",
                aliases=("toast", "alert", "notification", "shows_message", "success_message", "error_message",
                         "status", "flash", "snackbar")),
    OutcomeKind("dialog_opens", "A dialog is open; with a value: its title or a text in it", "page", "may",
                aliases=("dialog", "opens_dialog", "modal_opens", "popup_opens", "dialog_open")),
    OutcomeKind("dialog_closes", "No dialog is open; with a value: not the one with this title", "page", "may",
                aliases=("closes_dialog", "dialog_closed", "modal_closes", "popup_closes")),
    OutcomeKind("downloads", "The step downloads a file; with a value: of this name, `*` stands for anything",
                "page", "may", aliases=("download", "file_downloaded", "downloads_file")),
    OutcomeKind("no_console_errors", "The page says no error on its console", "page",
                aliases=("no_errors", "console_clean", "no_javascript_errors")),
):  # fmt: skip
    register(_kind)


@dataclass(frozen=True, slots=True)
class OutcomeProblem:
    """One expected outcome that cannot be read."""

    said: str
    message: str
    fix: str

    def __str__(self) -> str:
        return f"{self.message} -> {self.fix}"


class OutcomesUnreadable(ValueError):
    """Expected outcomes that cannot be read. `problems` has all of them."""

    def __init__(self, problems: Iterable[OutcomeProblem]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(str(each) for each in self.problems))


def canonical(name: str) -> str | None:
    """The canonical name of a kind: `Navigates to` is `navigates_to`; None for one that is not there."""
    return _BY_NAME.get(_plain(name))


def parse_outcomes(text: str) -> tuple[Outcome, ...]:
    """What a text expects. Raises `OutcomesUnreadable` with every problem at once.

    Nothing is guessed: a text that is no kind is a problem, with suggestions.
    """
    reader = _Reader(text)
    text = reader.text
    found: list[Outcome] = []
    problems: list[OutcomeProblem] = []
    while reader.next_outcome():
        begin = reader.at
        try:
            outcome = _outcome(reader)
            found.append(_checked(outcome.model_copy(update={"said": text[begin : reader.at].strip()})))
        except _UnreadableError as exc:
            reader.skip_outcome()
            problems.append(OutcomeProblem(text[begin : reader.at].strip(), exc.message, exc.fix))
    if problems:
        raise OutcomesUnreadable(problems)
    return tuple(found)


def element_and_region(words: str) -> tuple[str, str | None]:
    """`Save@LoginForm` -> `("Save", "LoginForm")`; either may be in double quotes (PACTS 4.1).

    Raises `ValueError` for words that name no element or an empty region.
    """
    reader = _Reader(words, separators="")
    try:
        element, region = reader.element(stops="")
        reader.skip_space()
    except _UnreadableError as exc:
        raise ValueError(f"{exc.message} -> {exc.fix}") from exc
    if reader.at < len(words):
        raise ValueError(f"{excerpt(words)!r} goes on behind a quotation mark -> quote the whole name")
    return element, region


def written(outcome: Outcome) -> str:
    """An outcome as a requirement writes it; `parse_outcomes` reads the same from it."""
    kind = OUTCOMES[outcome.kind]
    if kind.about == "page":
        return kind.name if outcome.value is None else f"{kind.name}:{_quoted(outcome.value)}"
    named = _quoted(outcome.element or "", "@=") if outcome.element else ""
    if outcome.region:
        named += f"@{_quoted(outcome.region, '@=')}"
    if outcome.value is None:
        return f"{kind.name}:{named}" if named and kind.bare == "element" else kind.name
    if named or kind.bare == "element":
        return f"{kind.name}:{named}={_quoted(outcome.value)}"
    return f"{kind.name}:{_quoted(outcome.value, '=')}"


# -- reading -------------------------------------------------------------------------------------


class _UnreadableError(Exception):
    def __init__(self, message: str, fix: str) -> None:
        super().__init__(message)
        self.message, self.fix = message, fix


_QUOTE = '"'
"""Only this one: typographic marks are part of what pages say."""
_SEPARATORS = ";\n"


class _Reader:
    """A text and how far it was read."""

    def __init__(self, text: str, separators: str = _SEPARATORS) -> None:
        self.separators = separators
        self.text = text.replace("\r\n", "\n").replace("\r", "\n")
        self.at = 0

    @property
    def here(self) -> str:
        return self.text[self.at : self.at + 1]

    def skip_space(self) -> None:
        while self.here and self.here.isspace() and self.here != "\n":
            self.at += 1

    def next_outcome(self) -> bool:
        """Go to where the next outcome begins; False at the end."""
        while self.here and (self.here.isspace() or self.here in self.separators):
            self.at += 1
        return bool(self.here)

    def skip_outcome(self) -> None:
        """Leave the rest of an outcome, up to the next separator."""
        while self.here and self.here not in self.separators:
            self.at += 1

    def words(self, stops: str) -> str:
        """Literal text up to a stop or separator, without space around it."""
        begin = self.at
        while self.here and self.here not in stops + self.separators:
            self.at += 1
        return self.text[begin : self.at].strip()

    def quoted(self) -> str:
        """A quoted text; the mark twice is the mark itself."""
        begin = self.at
        found: list[str] = []
        self.at += 1
        while self.here:
            if self.here == _QUOTE and self.text[self.at + 1 : self.at + 2] != _QUOTE:
                self.at += 1
                self.skip_space()
                return "".join(found)
            self.at += 2 if self.here == _QUOTE else 1
            found.append(self.text[self.at - 1])
        self.at = begin + 1
        raise _UnreadableError("a quotation mark is never closed", "close it, or leave it out")

    def part(self, stops: str) -> str:
        """A quoted text, or literal text up to a stop."""
        self.skip_space()
        if self.here != _QUOTE:
            return self.words(stops)
        found = self.quoted()
        if self.here and self.here not in stops + self.separators:
            raise _UnreadableError(
                "text goes on behind a closing quotation mark",
                'quote all of it; a quotation mark inside is written twice: "a ""b"" c"',
            )
        return found

    def element(self, stops: str) -> tuple[str, str | None]:
        """`Element` or `Element@Region`, each quoted or not; of several `@` the last one counts."""
        name, region = self.part(f"@{stops}"), None
        while self.here == "@":
            self.at += 1
            name = name if region is None else f"{name}@{region}"
            region = self.part(f"@{stops}")
        if not name:
            raise _UnreadableError("an element has no name", "write Element or Element@Region")
        if region == "":
            raise _UnreadableError(
                f"behind {name + '@'!r} the region is missing", f"write {name}@Region, or {name}"
            )
        return name, region


def _outcome(reader: _Reader) -> Outcome:
    name = reader.words(":")
    found = canonical(name)
    if found is None:
        rest = reader.at
        reader.skip_outcome()
        raise _no_kind(name, has_value=reader.text[rest : reader.at].startswith(":"))
    kind = OUTCOMES[found]
    if reader.here != ":":
        return Outcome(kind=found, said=name)
    reader.at += 1
    if kind.about == "page":
        return Outcome(kind=found, said=name, value=reader.part("") or None)
    return _about_element(reader, kind)


def _about_element(reader: _Reader, kind: OutcomeKind) -> Outcome:
    """`Element@Region=value`, `=value`, and either alone as the kind reads it."""
    begin = reader.at
    reader.skip_space()
    if reader.here == "=":
        element, region = None, None
    elif kind.value == "never" or _has_equals(reader) or kind.bare == "element":
        reader.at = begin
        element, region = reader.element(stops="" if kind.value == "never" else "=")
    else:
        reader.at = begin
        return Outcome(kind=kind.name, said="", value=reader.part("") or None)
    value = None
    if reader.here == "=":
        reader.at += 1
        value = reader.part("")
        if not value:
            raise _UnreadableError(f"{kind.name}: behind `=` the value is missing", f"write {_example(kind)}")
    return Outcome(kind=kind.name, said="", element=element, region=region, value=value)


def _has_equals(reader: _Reader) -> bool:
    """Whether an `=` outside quotes comes before the outcome ends; reads nothing."""
    ahead = _Reader(reader.text)
    ahead.at = reader.at
    if ahead.here == _QUOTE:
        ahead.quoted()
        if ahead.here == "@":
            ahead.at += 1
            ahead.part("=")
    else:
        ahead.words("=")
    return ahead.here == "="


def _checked(outcome: Outcome) -> Outcome:
    kind = OUTCOMES[outcome.kind]
    if kind.value == "must" and not outcome.value:
        raise _UnreadableError(f"{kind.name} needs a value", f"write {_example(kind)}")
    if kind.value == "never" and outcome.value is not None:
        raise _UnreadableError(f"{kind.name} takes no value", f"write {kind.name}")
    if kind.name == "count" and not re.fullmatch(r"\d{1,9}", outcome.value or ""):
        raise _UnreadableError(
            f"count needs a number, and {excerpt(outcome.value or '')!r} is none", f"write {_example(kind)}"
        )
    try:
        parts(outcome.value or "")
        hidden = secret_names(outcome.element, outcome.region)
    except PlaceholderInvalid as exc:
        raise _UnreadableError(f"{excerpt(exc.said)!r} is no placeholder", exc.fix) from exc
    if hidden:
        raise _UnreadableError(
            f"a secret in an element's name: {hidden[0]}", "name the element by what people see"
        )
    return outcome


def _no_kind(name: str, *, has_value: bool) -> _UnreadableError:
    """Free text, or a kind that is misspelt: what it may be meant for is said, and never assumed."""
    known = did_you_mean(_plain(name), [*_BY_NAME])
    if known and (has_value or len(name.split()) <= _MOST_WORDS_OF_A_KIND):
        return _UnreadableError(f"unknown expected outcome {excerpt(name)!r}", known)
    return _UnreadableError(
        f"{excerpt(name)!r} is no expected outcome of the vocabulary",
        f"for a text on the page write shows:{excerpt(name)}, for a toast message:{excerpt(name)}, for a page that "
        f"opens navigates_to:{excerpt(name)}",
    )


_MOST_WORDS_OF_A_KIND = 4


def _example(kind: OutcomeKind) -> str:
    if kind.about == "page":
        return f"{kind.name}:{_EXAMPLES.get(kind.name, 'TEXT')}"
    return f"{kind.name}:Element={_EXAMPLES.get(kind.name, 'TEXT')}"


_EXAMPLES = {"count": "3", "url": "/path", "navigates_to": "Page", "downloads": "report.csv"}


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]+", "_", name.strip().lower())


def _quoted(text: str, marks: str = "") -> str:
    """The text, in quotes where reading would take it apart."""
    plain = text.strip() == text and text and text[0] != _QUOTE
    if plain and not any(mark in text for mark in f"{marks}{_SEPARATORS}\r"):
        return text
    return '"' + text.replace('"', '""') + '"'
