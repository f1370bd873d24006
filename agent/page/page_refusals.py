"""Tells whether the page refused a press: an error as answer to its write, or fields and messages that are new.

Pure, except for `read_refusal_signs`. Sure signs need no other: the write was answered with an error, or the browser
did not send the form. The others count only if the form of before is still shown.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal
from urllib.parse import urlsplit

from playwright.async_api import Page

from agent.page import in_page_library
from agent.page.page_writes import PageWrite
from kb_schema.base import Model
from kb_schema.text_similarity import SMALL_WORDS, words

_NO_SUCH_ENDPOINT = frozenset({404, 405, 501})
_UNDECIDED = frozenset({408})
"""The application may still have done it."""
_SERVER_ERROR = 500
_SHOWN_AT_ONCE = 200
"""Answer to a form that was sent: without a redirect. Forms that are stored are mostly answered with one."""
_TELEMETRY = re.compile(
    r"(?:^|[/._-])(?:analytics|telemetry|beacons?|collect|rum|sentry|metrics|pixel|csp-report)(?:[/._-]|$)"
)
"""Addresses of measurements: their answers count only if the page shows an error too."""
_TRIAL = re.compile(
    r"(?:^|[/._-])(?:validat\w*|checks?|previews?|suggest\w*|precognition|autocomplete|search|lookup)(?:[/._-]|$)"
)
"""Addresses at which a form is only tried: they refuse what is not complete yet."""
_LONGEST = 400
"""Characters of a quote."""
_MOST_QUOTED = 3
"""Messages of one quote."""


class NativeRefusal(Model):
    """A field for which the browser did not send the form."""

    label: str
    message: str


class FieldSigns(Model):
    """A visible field."""

    key: str
    """What identifies it in its form, also after the page was loaded again."""
    form: int
    """Number of its form on the page."""
    searching: bool
    """Whether it is for searching or filtering."""
    label: str
    value: str | None
    """None for a password."""
    marked: bool
    """Whether the page marks it as invalid."""
    messages: tuple[str, ...]
    beside: tuple[str, ...] = ()
    """The texts of its row."""


class MessageSigns(Model):
    """A message of the page."""

    text: str
    live: bool
    """Whether it is announced (`role=alert`, `aria-live=assertive`)."""
    wrong: bool
    """Whether its markup calls it an error."""
    warning: bool = False
    """Whether its markup calls it a warning."""
    of_field: bool = False
    """Whether a field refers to it (`aria-describedby`, `aria-errormessage`)."""


class PersonCheck(Model):
    """Something on a page that only a person can do."""

    kind: Literal["captcha", "passkey"]
    name: str = ""
    """What the page calls it; may be empty."""
    entered: bool = True
    """Whether something was entered in its form, so that it is in the way of what is sent; true without a form."""

    def __str__(self) -> str:
        """Return it for people."""
        said = f" {self.name!r}" if self.name else ""
        return f"a captcha{said}" if self.kind == "captcha" else "a passkey prompt of the browser"


class RefusalSigns(Model):
    """What a page shows that may be signs of a refusal."""

    url: str = ""
    presses: int = 0
    """Presses in this document so far."""
    native: tuple[NativeRefusal, ...] = ()
    fields: tuple[FieldSigns, ...] = ()
    messages: tuple[MessageSigns, ...] = ()
    successes: tuple[str, ...] = ()
    """What its markup calls a success."""
    told: str = ""
    """The text of a page that is nothing but a message, else its heading."""
    person: tuple[PersonCheck, ...] = ()
    """What only a person can do."""


class RefusalSign(StrEnum):
    """By what a refusal is known; the surest first."""

    ANSWER = "answer"
    NATIVE = "native"
    FIELDS = "fields"
    FORM = "form"
    """The answer is the same form, with what was entered and an error beside a field, and nothing says that it was stored."""
    MESSAGE = "message"


@dataclass(frozen=True, slots=True)
class PageRefusal:
    """A refused press."""

    sign: RefusalSign
    quote: str
    """What the page or the answer says; may be empty."""
    status: int | None = None
    """HTTP status of the refused write."""

    @property
    def sure(self) -> bool:
        """Whether nothing else on the page can outweigh it."""
        return self.sign in (RefusalSign.ANSWER, RefusalSign.NATIVE)

    @property
    def did_not_happen(self) -> bool:
        """Whether the page says for sure that what was pressed had no effect."""
        if self.status is not None:
            return self.status < _SERVER_ERROR and self.status not in _UNDECIDED
        return self.sign is not RefusalSign.MESSAGE

    @property
    def server_error(self) -> bool:
        """Whether the application failed, rather than refused."""
        return self.status is not None and self.status >= _SERVER_ERROR

    def __str__(self) -> str:
        """Return it for people: `HTTP 400: the title is taken`."""
        status = "" if self.status is None else f"HTTP {self.status}"
        return ": ".join(part for part in (status, self.quote) if part) or "it gives no reason"


@dataclass(frozen=True, slots=True)
class PageComplaint:
    """What a page says is wrong."""

    quote: str
    values: tuple[str, ...] = ()
    """What the fields show that it names."""


async def read_refusal_signs(page: Page) -> RefusalSigns:
    """Return the signs that the page shows now. Raises `PageGone`."""
    return RefusalSigns.model_validate(await in_page_library.call(page, "refusalSigns"))


async def read_person_checks(page: Page) -> tuple[PersonCheck, ...]:
    """Return what on the page only a person can do now. Raises `PageGone`."""
    found = await in_page_library.call(page, "personChecks")
    return tuple(map(PersonCheck.model_validate, found))


def find_refusal(
    before: RefusalSigns | None, after: RefusalSigns | None, writes: Sequence[PageWrite] = ()
) -> PageRefusal | None:
    """Return the refusal of a press, from the signs before and after it and its own writes; None if there is none.

    None for signs: the page could not be read.
    """
    seen, was = after or RefusalSigns(), before or after or RefusalSigns()
    fields, messages = _find_new_marks(was, seen), _find_new_messages(was, seen)
    if not any(write.document for write in writes):
        emptied = _list_messages_of_emptied_fields(was, seen)
        messages = [each for each in messages if each.text not in emptied]
    told = [*fields, *(each.text for each in messages if each.wrong)]
    told = told or [each.text for each in messages if each.live]
    refused = _find_refused_write(writes, shown=bool(fields or any(each.wrong for each in messages)))
    if refused is not None:
        said = told or ([refused.message] if refused.message else [])
        page = [seen.told] if refused.document and seen.told else []
        return PageRefusal(RefusalSign.ANSWER, _quote(said or page), refused.status)
    if not writes and seen.native and (seen.presses, seen.native) != (was.presses, was.native):
        return PageRefusal(
            RefusalSign.NATIVE, _quote([_name(each.label, each.message) for each in seen.native])
        )
    same_form = _is_same_form(was, seen)
    if fields and same_form:
        return PageRefusal(RefusalSign.FIELDS, _quote(told))
    wrong = [
        each for each in messages if each.wrong and _is_answer(was, seen, each, writes, same_form=same_form)
    ]
    sign = RefusalSign.MESSAGE
    if same_form and any(write.document and write.status == _SHOWN_AT_ONCE for write in writes):
        beside = any(_stands_beside_field(seen, each) for each in wrong)
        stored = not set(seen.successes) <= set(was.successes)
        sign = RefusalSign.FORM if beside and not stored and _keeps_entries(was, seen) else sign
        wrong = wrong or [each for each in messages if each.warning]
    return PageRefusal(sign, _quote([each.text for each in wrong])) if wrong else None


def find_refused_choice(writes: Sequence[PageWrite]) -> PageWrite | None:
    """Return the refused write of a choice that was to be stored at once; None if there is none."""
    return _find_refused_write([write for write in writes if not _is_trial(write)], shown=False)


def find_complaint(before: RefusalSigns, after: RefusalSigns) -> PageComplaint | None:
    """Return what a page complains of since a press, for a run that failed after it; None if of nothing.

    As what the run waits for did not come, a message needs no write to count where the same form is still shown.
    """
    same_form = _is_same_form(before, after)
    marked = _list_new_marks(before, after) if same_form else []
    native = after.native if (after.presses, after.native) != (before.presses, before.native) else ()
    emptied = _list_messages_of_emptied_fields(before, after)
    messages = [each for each in _find_new_messages(before, after) if each.text not in emptied]
    here = same_form or _place(before) == _place(after)
    wrong = [each.text for each in messages if each.wrong and (here if each.live else same_form)]
    told = [
        *(_name(each.label, message) for each, message in marked),
        *(_name(each.label, each.message) for each in native),
        *(wrong or [each.text for each in messages if each.live and same_form]),
    ]
    labels = {each.label for each in native}
    fields = [*(each for each, _ in marked), *(each for each in after.fields if each.label in labels)]
    return PageComplaint(_quote(told), tuple(each.value for each in fields if each.value)) if told else None


def find_warning(before: RefusalSigns | None, after: RefusalSigns | None) -> str:
    """Return what the page warns of after a press and did not before; empty if nothing. None: it could not be read."""
    seen = after or RefusalSigns()
    return _quote([each.text for each in _find_new_messages(before or seen, seen) if each.warning])


def _find_refused_write(writes: Sequence[PageWrite], *, shown: bool) -> PageWrite | None:
    """Return the write whose refusal is the press's. `shown`: the page shows an error too.

    Of several writes to one address the last one counts: a write is repeated after a token was renewed.
    """
    documents = [write for write in writes if write.document]
    if documents:
        return documents[-1] if documents[-1].refused else None
    last = {write.address: write for write in writes}.values()
    refused = [write for write in last if write.refused]
    if not refused or shown:
        return refused[-1] if refused else None
    counted = [write for write in last if not _is_aside(write)]
    return counted[-1] if counted and all(write.refused for write in counted) else None


def _is_aside(write: PageWrite) -> bool:
    """Whether its refusal alone says nothing: a measurement, or an address that does not exist."""
    return (
        write.status in _NO_SUCH_ENDPOINT or _TELEMETRY.search(urlsplit(write.url).path.lower()) is not None
    )


def _is_trial(write: PageWrite) -> bool:
    return _TRIAL.search(urlsplit(write.url).path.lower()) is not None


def _find_new_marks(before: RefusalSigns, after: RefusalSigns) -> list[str]:
    return [_name(field.label, message) for field, message in _list_new_marks(before, after)]


def _list_new_marks(before: RefusalSigns, after: RefusalSigns) -> list[tuple[FieldSigns, str]]:
    """Return the fields that are marked now, were there before without, and keep their value, with their messages."""
    known = {each.key: each for each in before.fields}
    told = []
    for each in after.fields:
        was = known.get(each.key)
        if was is None or not each.marked or each.value != was.value:
            continue
        new = [text for text in each.messages if text not in was.messages]
        if new or not was.marked:
            appeared = [text for text in each.beside if text not in was.beside and text != each.label]
            told.append((each, "; ".join(new or each.messages or appeared)))
    return told


def _find_new_messages(before: RefusalSigns, after: RefusalSigns) -> list[MessageSigns]:
    known = {each.text for each in before.messages}
    return [each for each in after.messages if each.text not in known]


def _list_messages_of_emptied_fields(before: RefusalSigns, after: RefusalSigns) -> set[str]:
    """Return what is said beside fields that a script emptied: the form was sent, and asks for the next entry."""
    values = {each.key: each.value for each in before.fields}
    emptied = (each for each in after.fields if each.value == "" and values.get(each.key))
    return {text for each in emptied for text in each.messages}


def _is_answer(
    before: RefusalSigns,
    after: RefusalSigns,
    message: MessageSigns,
    writes: Sequence[PageWrite],
    *,
    same_form: bool,
) -> bool:
    """Whether a message of an error answers the press: it is announced where the press was, or it came with the same
    form after a write.
    """
    if message.live:
        return same_form or _place(before) == _place(after)
    return same_form and bool(writes)


def _place(signs: RefusalSigns) -> tuple[str, str]:
    parts = urlsplit(signs.url)
    return parts.path, parts.fragment


def _is_same_form(before: RefusalSigns, after: RefusalSigns) -> bool:
    """Whether a form of before, not for searching, is shown again with the same fields."""
    return bool(_list_forms(before) & _list_forms(after))


def _stands_beside_field(seen: RefusalSigns, message: MessageSigns) -> bool:
    """Whether a message stands in the row of a field, or right beside it and the field refers to it or its first sentence speaks of it.

    A notice elsewhere, or of something else, may have nothing to do with the form.
    """
    return any(
        any(message.text in text for text in each.beside)
        or (message.text in each.messages and (message.of_field or _speaks_of(each, message.text)))
        for each in seen.fields
    )


def _speaks_of(field: FieldSigns, text: str) -> bool:
    """Whether the first sentence of a text has a word of the name of a field, or of what was entered there.

    `Saved. But the name was used before` tells that it was stored first.
    """
    first = re.split(r"[.!?;]\s", text, maxsplit=1)[0]
    return bool({*words(field.label), *words(field.value or "")} & set(words(first)) - SMALL_WORDS)


def _keeps_entries(before: RefusalSigns, after: RefusalSigns) -> bool:
    """Whether a form with something entered is shown again with all of it."""
    forms = [
        {(each.key, each.value or "") for each in signs.fields if not each.searching}
        for signs in (before, after)
    ]
    entered = {each for each in forms[0] if each[1]}
    return bool(entered) and entered <= forms[1]


def _list_forms(signs: RefusalSigns) -> set[frozenset[tuple[str, int]]]:
    forms: dict[int, list[str]] = {}
    for each in signs.fields:
        if not each.searching:
            forms.setdefault(each.form, []).append(each.key)
    return {frozenset(Counter(keys).items()) for keys in forms.values()}


def _name(label: str, message: str) -> str:
    return f"{label}: {message}" if message else f"{label} is marked as invalid"


def _quote(texts: Sequence[str]) -> str:
    """Join messages; one that is part of another is left out."""
    apart = [
        text for text in dict.fromkeys(texts) if not any(text != each and text in each for each in texts)
    ]
    return "; ".join(apart[:_MOST_QUOTED])[:_LONGEST]
