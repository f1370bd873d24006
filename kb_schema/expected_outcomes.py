"""The vocabulary of expected outcomes of a requirement's steps, and how they are written.

`kind`, `kind:value`, `kind:Element@Region=value`, several separated by `;` or line breaks. Each kind is one
registered entry. This module does not know how an outcome is found on a page and asserted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from kb_schema.documents import did_you_mean
from kb_schema.excerpts import excerpt
from kb_schema.placeholders import PlaceholderInvalid, parts, secret_names
from kb_schema.verification import ExpectedOutcome

OutcomeSubject = Literal["element", "page"]
OutcomeValueRule = Literal["never", "may", "must"]


@dataclass(frozen=True, slots=True)
class OutcomeKind:
    """One kind of expected outcome."""

    name: str
    summary: str
    about: OutcomeSubject
    """`element`: the step's own element, or the named one. `page`: the text after the colon is the value."""
    value: OutcomeValueRule = "never"
    bare: Literal["element", "value"] = "value"
    """What `kind:WORDS` without `=` means: an element, or a value for the step's own element."""
    aliases: tuple[str, ...] = ()
    quotes: bool = False
    """The value is a text that the page says somewhere: other words may have taken its place."""


JUDGED = "judged"
"""The outcome that a language model judges. It never decides alone, and generated tests do not have it."""
STATES = frozenset(
    {
        "field_populated",
        "field_value",
        "field_empty",
        "checked",
        "unchecked",
        "selected",
        "text",
        "enabled",
        "disabled",
    }
)
"""Outcomes that may hold before a press is answered, because of what was entered: they must hold at the end."""
OUTCOMES: dict[str, OutcomeKind] = {}
_BY_NAME: dict[str, str] = {}


def register(kind: OutcomeKind) -> OutcomeKind:
    """Register a kind. Raises `ValueError` if a name is taken."""
    for name in (kind.name, *kind.aliases):
        if name in _BY_NAME:
            raise ValueError(f"outcome name {name!r} is taken by {_BY_NAME[name]!r}")
        _BY_NAME[name] = kind.name
    OUTCOMES[kind.name] = kind
    return kind


for _kind in (
    OutcomeKind(
        "field_populated",
        "A field has a value; in the step that fills it: the step's value",
        "element",
        bare="element",
        aliases=("populated", "filled", "field_filled", "not_empty"),
    ),
    OutcomeKind(
        "field_value",
        "A field has this value",
        "element",
        "must",
        aliases=("value", "has_value", "value_is", "field_has_value"),
    ),
    OutcomeKind(
        "field_empty",
        "A field has no value",
        "element",
        bare="element",
        aliases=("empty", "is_empty", "cleared", "field_cleared"),
    ),
    OutcomeKind(
        "checked",
        "A checkbox, radio button or switch is on",
        "element",
        bare="element",
        aliases=("is_checked", "ticked", "switched_on"),
    ),
    OutcomeKind(
        "unchecked",
        "A checkbox, radio button or switch is off",
        "element",
        bare="element",
        aliases=("is_unchecked", "not_checked", "unticked", "switched_off"),
    ),
    OutcomeKind(
        "selected",
        "A list has this option selected; without a value: the tab, option or row is selected",
        "element",
        "may",
        aliases=("is_selected", "option_selected", "selected_option"),
    ),
    OutcomeKind(
        "focused",
        "An element has the keyboard focus",
        "element",
        bare="element",
        aliases=("is_focused", "has_focus"),
    ),
    OutcomeKind(
        "enabled", "An element is enabled", "element", bare="element", aliases=("is_enabled", "active")
    ),
    OutcomeKind(
        "disabled",
        "An element is disabled",
        "element",
        bare="element",
        aliases=("is_disabled", "inactive", "greyed_out"),
    ),
    OutcomeKind(
        "visible",
        "An element is visible",
        "element",
        bare="element",
        aliases=("is_visible", "displayed", "appears", "element_visible", "exists", "present"),
    ),
    OutcomeKind(
        "hidden",
        "An element is hidden or absent",
        "element",
        bare="element",
        aliases=("is_hidden", "not_visible", "disappears", "element_hidden", "gone", "absent"),
    ),
    OutcomeKind(
        "text",
        "An element has this text, ignoring white space and the element's own name",
        "element",
        "must",
        aliases=("has_text", "element_text", "text_is"),
    ),
    OutcomeKind(
        "invalid",
        "A field is marked as invalid; with a value: with this message",
        "element",
        "may",
        bare="element",
        aliases=("error", "is_invalid", "field_invalid", "field_error", "validation_error"),
    ),
    OutcomeKind(
        "count",
        "The number of elements with this name",
        "element",
        "must",
        aliases=("number_of", "has_count", "element_count"),
    ),
    OutcomeKind(
        "navigates_to",
        "A page opened: its name, title, heading or path",
        "page",
        "must",
        aliases=("navigate_to", "goes_to", "opens_page", "opens", "redirects_to", "lands_on", "page"),
    ),
    OutcomeKind(
        "stays_on_page",
        "The page is still the one the step was done on",
        "page",
        aliases=("stays", "no_navigation", "remains_on_page", "same_page"),
    ),
    OutcomeKind(
        "url",
        "The address is, or its path is, this; `*` stands for anything",
        "page",
        "must",
        aliases=("url_is", "address", "path", "has_url"),
    ),
    OutcomeKind(
        "title",
        "The document has this title",
        "page",
        "must",
        aliases=("page_title", "title_is", "has_title"),
    ),
    OutcomeKind(
        "heading",
        "A visible heading has this text",
        "page",
        "must",
        aliases=("heading_is", "has_heading", "headline"),
        quotes=True,
    ),
    OutcomeKind(
        "shows",
        "A visible text anywhere on the page contains this",
        "page",
        "must",
        aliases=("see", "sees", "contains", "shows_text", "text_visible", "displays", "page_shows"),
        quotes=True,
    ),
    OutcomeKind(
        "not_shows",
        "No visible text of the page contains this",
        "page",
        "must",
        aliases=("does_not_show", "not_see", "hides_text", "not_contains", "no_text", "text_hidden"),
    ),
    OutcomeKind(
        "message",
        "A toast, alert or status region has this text; without a value: any text",
        "page",
        "may",
        aliases=(
            "toast",
            "alert",
            "notification",
            "shows_message",
            "success_message",
            "error_message",
            "status",
            "flash",
            "snackbar",
        ),
        quotes=True,
    ),
    OutcomeKind(
        "dialog_opens",
        "A dialog is open (role `dialog` or `alertdialog`, `aria-modal`, `<dialog>`); with a value: its title or a text in it",
        "page",
        "may",
        aliases=("dialog", "opens_dialog", "modal_opens", "popup_opens", "dialog_open"),
        quotes=True,
    ),
    OutcomeKind(
        "dialog_closes",
        "No dialog is open; with a value: not the one with this title",
        "page",
        "may",
        aliases=("closes_dialog", "dialog_closed", "modal_closes", "popup_closes"),
    ),
    OutcomeKind(
        "downloads",
        "The step downloads a file; with a value: of this name, `*` stands for anything",
        "page",
        "may",
        aliases=("download", "file_downloaded", "downloads_file"),
    ),
    OutcomeKind(
        "no_console_errors",
        "The page logs no error on its console",
        "page",
        aliases=("no_errors", "console_clean", "no_javascript_errors"),
    ),
    OutcomeKind(
        JUDGED,
        "A language model judges that the page's text fits this statement; only beside an outcome that needs no model",
        "page",
        "must",
        aliases=("judged_by_model",),
    ),
):
    register(_kind)


@dataclass(frozen=True, slots=True)
class OutcomeProblem:
    """One expected outcome that cannot be parsed."""

    said: str
    message: str
    fix: str

    def __str__(self) -> str:
        return f"{self.message} -> {self.fix}"


class OutcomesUnreadable(ValueError):
    """Expected outcomes that cannot be parsed. `problems` has all of them."""

    def __init__(self, problems: Iterable[OutcomeProblem]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(str(each) for each in self.problems))


def canonical(name: str) -> str | None:
    """Return the canonical name of a kind (`navigates_to` for `Navigates to`), or None if it is unknown."""
    return _BY_NAME.get(_plain(name))


def parse_outcomes(text: str) -> tuple[ExpectedOutcome, ...]:
    """Parse a text into expected outcomes. Raises `OutcomesUnreadable` with every problem.

    A text with an unknown kind is a problem with suggestions; the parser never guesses.
    """
    reader = _OutcomeParser(text)
    text = reader.text
    found: list[ExpectedOutcome] = []
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
    """Split `Save@LoginForm` into `("Save", "LoginForm")`; either may be in double quotes (PACTS 4.1).

    Raises `ValueError` for words that name no element, or an empty region.
    """
    reader = _OutcomeParser(words, separators="")
    try:
        element, region = reader.element(stops="")
        reader.skip_space()
    except _UnreadableError as exc:
        raise ValueError(f"{exc.message} -> {exc.fix}") from exc
    if reader.at < len(words):
        raise ValueError(f"{excerpt(words)!r} continues after a quotation mark -> quote the whole name")
    return element, region


def render_outcome(outcome: ExpectedOutcome) -> str:
    """Return an outcome as a requirement writes it; `parse_outcomes` parses it back."""
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
"""Only this quotation mark: typographic ones are part of page texts."""
_SEPARATORS = ";\n"


class _OutcomeParser:
    """A text and the parse position."""

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
        """Move to the next outcome; return False at the end."""
        while self.here and (self.here.isspace() or self.here in self.separators):
            self.at += 1
        return bool(self.here)

    def skip_outcome(self) -> None:
        """Skip the rest of an outcome, up to the next separator."""
        while self.here and self.here not in self.separators:
            self.at += 1

    def words(self, stops: str) -> str:
        """Return literal text up to a stop or separator, stripped."""
        begin = self.at
        while self.here and self.here not in stops + self.separators:
            self.at += 1
        return self.text[begin : self.at].strip()

    def quoted(self) -> str:
        """Return a quoted text; a doubled mark is the mark itself."""
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
        """Return a quoted text, or literal text up to a stop."""
        self.skip_space()
        if self.here != _QUOTE:
            return self.words(stops)
        found = self.quoted()
        if self.here and self.here not in stops + self.separators:
            raise _UnreadableError(
                "text continues after a closing quotation mark",
                'quote all of it; a quotation mark inside is written twice: "a ""b"" c"',
            )
        return found

    def element(self, stops: str) -> tuple[str, str | None]:
        """Return element and region of `Element` or `Element@Region`, each quoted or not.

        With several `@`, the last one separates.
        """
        name, region = self.part(f"@{stops}"), None
        while self.here == "@":
            self.at += 1
            name = name if region is None else f"{name}@{region}"
            region = self.part(f"@{stops}")
        if not name:
            raise _UnreadableError("an element has no name", "write Element or Element@Region")
        if region == "":
            raise _UnreadableError(
                f"the region after {name + '@'!r} is missing", f"write {name}@Region, or {name}"
            )
        return name, region


def _outcome(reader: _OutcomeParser) -> ExpectedOutcome:
    name = reader.words(":")
    found = canonical(name)
    if found is None:
        rest = reader.at
        reader.skip_outcome()
        raise _no_kind(name, has_value=reader.text[rest : reader.at].startswith(":"))
    kind = OUTCOMES[found]
    if reader.here != ":":
        return ExpectedOutcome(kind=found, said=name)
    reader.at += 1
    if kind.about == "page":
        return ExpectedOutcome(kind=found, said=name, value=reader.part("") or None)
    return _about_element(reader, kind)


def _about_element(reader: _OutcomeParser, kind: OutcomeKind) -> ExpectedOutcome:
    """Parse `Element@Region=value`, `=value`, or either alone as the kind defines it."""
    begin = reader.at
    reader.skip_space()
    if reader.here == "=":
        element, region = None, None
    elif kind.value == "never" or _has_equals(reader) or kind.bare == "element":
        reader.at = begin
        element, region = reader.element(stops="" if kind.value == "never" else "=")
    else:
        reader.at = begin
        return ExpectedOutcome(kind=kind.name, said="", value=reader.part("") or None)
    value = None
    if reader.here == "=":
        reader.at += 1
        value = reader.part("")
        if not value:
            raise _UnreadableError(f"{kind.name}: the value after `=` is missing", f"write {_example(kind)}")
    return ExpectedOutcome(kind=kind.name, said="", element=element, region=region, value=value)


def _has_equals(reader: _OutcomeParser) -> bool:
    """Return whether an `=` outside quotes comes before the outcome ends, without consuming it."""
    ahead = _OutcomeParser(reader.text)
    ahead.at = reader.at
    if ahead.here == _QUOTE:
        ahead.quoted()
    else:
        ahead.words("=@")
    if ahead.here == "@":
        ahead.at += 1
        if ahead.here == _QUOTE:
            ahead.quoted()
        ahead.words("=")
    return ahead.here == "="


def _checked(outcome: ExpectedOutcome) -> ExpectedOutcome:
    kind = OUTCOMES[outcome.kind]
    if kind.value == "must" and not outcome.value:
        raise _UnreadableError(f"{kind.name} needs a value", f"write {_example(kind)}")
    if kind.value == "never" and outcome.value is not None:
        raise _UnreadableError(f"{kind.name} takes no value", f"write {kind.name}")
    if kind.name == "count" and not re.fullmatch(r"\d{1,9}", outcome.value or ""):
        raise _UnreadableError(
            f"count: expected a number, found {excerpt(outcome.value or '')!r}", f"write {_example(kind)}"
        )
    try:
        parts(outcome.value or "")
        named = secret_names(outcome.element, outcome.region)
        expected = secret_names(outcome.value)
    except PlaceholderInvalid as exc:
        raise _UnreadableError(f"{excerpt(exc.said)!r} is not a placeholder", exc.fix) from exc
    if named:
        raise _UnreadableError(
            f"a secret in an element's name: {named[0]}", "name the element by what people see"
        )
    if expected:
        raise _UnreadableError(
            f"a secret in an expected outcome: {expected[0]}",
            "secrets are only typed into fields; field_populated compares the field with what was typed",
        )
    return outcome


def _no_kind(name: str, *, has_value: bool) -> _UnreadableError:
    """Return the problem for free text or a misspelt kind, with suggestions."""
    known = did_you_mean(_plain(name), [*_BY_NAME])
    if known and (has_value or len(name.split()) <= _MOST_WORDS_OF_A_KIND) and not _reads_as_sentence(name):
        return _UnreadableError(f"unknown expected outcome {excerpt(name)!r}", known)
    return _UnreadableError(
        f"{excerpt(name)!r} is not an expected outcome",
        f"for a text on the page write shows:{excerpt(name)}, for a toast message:{excerpt(name)}, for a page that "
        f"opens navigates_to:{excerpt(name)}",
    )


_MOST_WORDS_OF_A_KIND = 4
_WORDS_OF_A_SENTENCE = 3


def _reads_as_sentence(name: str) -> bool:
    """Return whether a text has several words, none of which begins the name of a kind: `it is saved`."""
    words = name.lower().split()
    first = {each.split("_")[0] for kind in OUTCOMES.values() for each in (kind.name, *kind.aliases)}
    return len(words) >= _WORDS_OF_A_SENTENCE and words[0] not in first


def _example(kind: OutcomeKind) -> str:
    if kind.about == "page":
        return f"{kind.name}:{_EXAMPLES.get(kind.name, 'TEXT')}"
    return f"{kind.name}:Element={_EXAMPLES.get(kind.name, 'TEXT')}"


_EXAMPLES = {"count": "3", "url": "/path", "navigates_to": "Page", "downloads": "report.csv"}


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]+", "_", name.strip().lower())


def _quoted(text: str, marks: str = "") -> str:
    """Return the text, quoted if the parser would split it."""
    plain = text.strip() == text and text and text[0] != _QUOTE
    if plain and not any(mark in text for mark in f"{marks}{_SEPARATORS}\r"):
        return text
    return '"' + text.replace('"', '""') + '"'
