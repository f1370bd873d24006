"""What shows that a drafted task was done: a record of what it typed stands on a page that the application sends again.

A drafted task has no condition of success, as its form was never sent. So the page is read before each of its steps and after each press
that sent a change, and the page that shows the record is opened again in another tab. What is a record is strict (`RecordSearch`): what
is in doubt is none. What was typed on the way, to find a row, is not what the task is about.
"""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from playwright.async_api import Page

from agent.dangers.press_surroundings import agrees
from agent.execution.asked_addresses import AskedAddress
from agent.negations import is_failure, is_negated
from agent.page.errors import PageError, PageGone
from agent.page.page_refusals import read_refusal_signs
from agent.page.page_writes import watch_writes
from agent.page.record_texts import PageButton, PageField, RecordLine, RecordPage, read_record_page
from agent.record_words import (
    asks_by_hand,
    asks_for_more,
    denies_by_value,
    find_report_words,
    is_another_deed,
    is_doubted,
    is_no_heading,
    sends_elsewhere,
    share_a_word,
    tells_a_condition,
    tells_success,
)
from kb_schema.sentence_plans import fold, stands_in
from kb_schema.tasks import DRAFT, Task, TaskStep
from kb_schema.templates import variables
from kb_schema.text_similarity import words

FindRecord = Callable[[Page], Awaitable[frozenset[str] | None]]
"""Returns the texts by which a page shows the record; None: it shows none."""
Reopen = Callable[[str, FindRecord], Awaitable[bool]]
"""Opens an address in another tab, and returns whether a record comes to be there and is from a server."""
_LONG = re.compile(r"(?:\w\W*){3}")
"""Shorter texts stand on many pages."""
_GENERAL = frozenset({
    "a", "add", "an", "and", "change", "create", "detail", "details", "edit", "field", "form", "for", "in", "item", "list", "new", "of", "on", "or", "page",
    "row", "save", "send", "set", "submit", "text", "the", "to", "update", "value", "with",
})  # fmt: skip
"""Words of tasks that say nothing of what they are about."""
_NUMBER = re.compile(r"[^\w]*\d[\d.,\s'\u2019\u00a0\u202f]*[^\w]*")
_NO_CENTS = re.compile(r"[.,]0+$")
_DIGITS = re.compile(r"\d+")
_LONGEST_MESSAGE = 150


@dataclass(slots=True)
class Offered:
    """What the pages before a press offered: the rest of the application, and no step that comes after the press."""

    names: set[str] = field(default_factory=set)
    """What could be pressed and filled in, folded. Of a field without a name its kind."""
    lines: set[str] = field(default_factory=set)
    """What was said, folded."""
    ways: set[str] = field(default_factory=set)
    """The addresses of these pages, and those to which they led."""
    paths: set[str] = field(default_factory=set)
    """The paths of these pages."""

    def add(self, url: str, shown: RecordPage) -> None:
        """Add what a page shows."""
        for offers in (shown.buttons, shown.row_buttons, shown.turns):
            self.names.update(fold(each.name) for each in offers)
        self.names.update(_name_field(each) for each in shown.fields)
        self.lines.update(fold(each.text) for each in shown.lines)
        self.ways.update((url, *shown.ways))
        self.paths.add(urlsplit(url).path)

    def leads_back(self, way: str, url: str) -> bool:
        """Whether a link of the page `url` leads to what is known: home, above this page, where pages before led, or below a record."""
        there, here = urlsplit(way), urlsplit(url)
        if way in self.ways or there[:4] == here[:4]:
            return True
        if there[:2] != here[:2] or there.fragment:
            return False
        own = here.path.rstrip("/")
        above = not there.query and f"{own}/".startswith(f"{there.path.rstrip('/')}/")
        return above or (here.path not in self.paths and there.path.startswith(f"{own}/"))


@dataclass(slots=True)
class EnteredTexts:
    """The texts that one run of a drafted task types, and the pages that show them."""

    task: Task
    _typed: dict[str, frozenset[str]] = field(default_factory=dict)
    """The texts, folded -> the words of the inputs that they belong to."""
    _seen: dict[str, tuple[RecordLine, ...]] = field(default_factory=dict)
    """Address -> what it showed before the press that is under way."""
    _offered: Offered = field(default_factory=Offered)
    """What the pages before each press offered."""
    _began: float = 0.0
    _shown: str | None = None
    """The address to which the last accepted press led, if it shows the record."""
    _asked: AskedAddress | None = None
    """The address that was opened."""
    _is_asked: bool = True
    """Whether the page before the press has the values of that address: else it may be about another thing."""
    _alerts: set[str] = field(default_factory=set)
    """What the pages before the press announced or marked as an error, without digits."""
    _messages: frozenset[str] = frozenset()
    """The messages of that page that say that what was sent is kept, without digits."""

    async def before_step(
        self, page: Page, step: TaskStep, typed: object, asked: AskedAddress | None = None
    ) -> None:
        """Read the page. `typed`: what the step types into it, if that is a text that is not secret. `asked`: the address that was opened."""
        if step.type == "navigation":  # it leads to the form
            self._typed.clear()
        with suppress(PageError):
            shown = await read_record_page(page, ())
            self._seen[page.url] = shown.lines
            self._offered.add(page.url, shown)
            lines = [each for each in shown.lines if each.area != "beside"]
            names = (shown.title, *(each.text for each in lines if each.heading))
            said = (each.text for each in lines)
            self._asked, self._is_asked = asked, asked is None or asked.names_all(page.url, names, said)
            self._alerts |= set(map(_without_digits, await _list_alerts(page)))
        self._began = time.monotonic()
        if isinstance(typed, str) and fold(typed):
            self._typed[fold(typed)] = self._list_words_of(step)

    async def after_press(self, page: Page) -> None:
        """Read the page to which a press led, if the application accepted what it sent."""
        if not self._typed or not self._is_asked or watch_writes(page).accepted_at < self._began:
            return
        self._messages, self._shown = frozenset(), None
        if not self._was_for_other_thing(page) and not await self._is_denied_by_alert(page):
            self._shown = page.url if await self._find(page.url, page, pressed=True) else None

    def _was_for_other_thing(self, page: Page) -> bool:
        """Whether what the press sent, or the page that it led to, is about another thing than the address that was opened."""
        asked = self._asked
        sent = (each.url for each in watch_writes(page).writes if not each.refused)
        return asked is not None and any(
            asked.find_other_thing(each, sent=True) for each in (*sent, page.url)
        )

    async def _is_denied_by_alert(self, page: Page) -> bool:
        """Whether a new alert of the page to which the press led denies or doubts something, such as `The boat is not stored`."""
        try:
            told = await _list_alerts(page)
        except PageGone:
            raise
        except PageError:
            return True  # what it announces is not known
        new = (_cut(each, self._typed) for each in told if _without_digits(each) not in self._alerts)
        return any(is_negated(each) or is_failure(each) or is_doubted(each) for each in new)

    async def are_kept(self, reopen: Reopen) -> bool:
        """Whether the page that showed the record shows it also when the application sends it again."""
        if self._shown is None:
            return False
        url = self._shown
        return await reopen(url, lambda page: self._find(url, page))

    async def _find(self, url: str, page: Page, *, pressed: bool = False) -> frozenset[str] | None:
        """Return as `RecordSearch.find`. `pressed`: the page came by the press, and not as its address was opened again."""
        try:
            shown = await read_record_page(page, self._typed)
        except PageGone:
            raise
        except PageError:
            return None
        about = _list_telling(f"{self.task.task_id} {self.task.name or ''}")
        if pressed:
            self._messages = self._list_successes(shown, about.union(*self._typed.values()))
        # what stays is none of the press: `Created by Ada`
        told = bool(self._messages) if pressed else bool(self._messages - _list_said(shown.lines))
        return RecordSearch(
            self._typed, about, url, self._seen.get(url), shown, self._offered, told=told
        ).find()

    def _list_successes(self, shown: RecordPage, about: frozenset[str]) -> frozenset[str]:
        """Return the messages outside of rows that no page before had, and that say that what was sent is kept, and nothing else.

        `about`: the words of the task and its inputs.
        """
        before = frozenset[str]().union(*map(_list_said, self._seen.values()))
        return frozenset(
            _without_digits(each.text)
            for each in shown.lines
            if tells_success(_cut(fold(each.text), self._typed), about)
            and each.row < 0
            and each.area != "beside"
            and not each.unseen
            and len(each.text) <= _LONGEST_MESSAGE
            and _without_digits(each.text) not in before
        )

    def _list_words_of(self, step: TaskStep) -> frozenset[str]:
        """Return the words of the inputs whose values a step types, or of the field if it has none."""
        names = variables(str(step.action.value))
        specs = [each for each in self.task.io_spec.inputs if each.name in names]
        said = " ".join(f"{each.name} {each.description or ''}" for each in specs)
        return _list_telling(said or str(step.action.target))


@dataclass(slots=True)
class RecordSearch:
    """Looks on a page for the record of what was typed.

    A text is one of a record if it is a line of its own, in the content of the page, below headings that say what the task is about, and
    stands there more often than before. The other texts stand in the same row, unless this kind of page shows them of no record.
    Nothing beside it or above it denies it.
    """

    typed: Mapping[str, frozenset[str]]
    """The texts, folded -> the words of their inputs."""
    about: frozenset[str]
    """The words of the task."""
    url: str
    before: Sequence[RecordLine] | None
    """What the same address showed before; None: it is not known."""
    page: RecordPage
    offered: Offered = field(default_factory=Offered)
    told: bool = False
    """Whether the application said after the press that what was sent is kept: then the record may stand below any heading."""

    def find(self) -> frozenset[str] | None:
        """Return the texts by which the page shows the record; None: it shows none, or there is doubt."""
        if not self.typed or self.page.carried or self._goes_on() or self._is_denied_elsewhere():
            return None
        if any(map(is_no_heading, self.page.chosen)):
            return None
        for line in self.page.lines:
            own = self._list_own(line)
            if (
                own
                and self._is_record(line)
                and self._has_others(line, own)
                and not self._is_asked_beside(line)
                and not self._is_denied_around(line)
            ):
                return own
        return None

    # -- the page

    def _goes_on(self) -> bool:
        """Whether the page asks for a further press: then what it shows is not kept yet."""
        return any(
            asks_for_more(each.name, fields=each.fields)
            or (not each.fields and words(each.name) and agrees(each.name))
            or (
                each.form and not each.fields and not is_another_deed(each.name)
            )  # `Looks good` below what was entered
            for each in self.page.buttons
            if not each.plain
        ) or any(sends_elsewhere(each.text) for each in self.page.lines if each.area != "beside")

    def _is_asked_beside(self, line: RecordLine) -> bool:
        """Whether a page that shows what was entered alone, and no list of records, has something new to press that does not do something
        else with a record that is kept, or tells what must come before: a coupon and `Looks good` are the last step of an order.
        """
        named = frozenset().union(*self.typed.values())
        beside = set(words(self._without_typed(line.near)))
        if line.row >= 0 and not (beside and beside <= named):  # `Name: Adaman` is a row of no list
            return self._is_asked_in_row(line) or self._leads_on(elsewhere=True)
        known = self.offered.names
        new = [each for each in self.page.buttons if words(each.name) and fold(each.name) not in known]
        rows = (  # links in other rows are those of menus
            each.name
            for each in self.page.row_buttons
            if not each.plain and words(self._without_typed(each.name))
        )
        return (
            any(self._is_asked_by_link(each) if each.away else not is_another_deed(each.name) for each in new)
            or any(fold(each) not in known and not is_another_deed(each) for each in rows)
            or self._leads_on(elsewhere=False)
            or any(
                _name_field(each) not in known and not is_another_deed(each.name) for each in self.page.fields
            )
            or any(
                self._asks_beside(each) for each in self.page.lines if each.area == "content" and each.row < 0
            )
        )

    def _asks_beside(self, line: RecordLine) -> bool:
        """Whether a line tells what must come before, or what a person does that no control shows."""
        said = self._without_typed(line.text)
        return tells_a_condition(said) or (asks_by_hand(said) and fold(line.text) not in self.offered.lines)

    def _leads_on(self, *, elsewhere: bool) -> bool:
        """Whether something new goes on by its words, wherever it stands: one record has no pages to turn. `elsewhere`: to another path, as the
        next page of a list is no further step.
        """
        here, known = urlsplit(self.url)[:3], self.offered.names
        turns = [(each.name, each.way) for each in self.page.turns]
        links = [(each.name, each.way) for each in self.page.buttons if each.away]
        return any(
            fold(name) not in known and asks_for_more(name, fields=True)
            for name, way in (*turns, *links)
            if not elsewhere or (way and urlsplit(way)[:3] != here)
        )

    def _is_asked_by_link(self, link: PageButton) -> bool:
        """Whether a link to another page goes on with what was entered: by its words (`Continue to payment`), or alone, to where nothing led before."""
        if asks_for_more(link.name, fields=False) or agrees(link.name):
            return True
        is_plain = is_another_deed(link.name) or not words(self._without_typed(link.name))
        return (
            link.alone and bool(link.way) and not is_plain and not self.offered.leads_back(link.way, self.url)
        )

    def _is_asked_in_row(self, line: RecordLine) -> bool:
        """Whether the row of a line has something to press that no other row has, and that does not do something with a record."""
        others = {fold(each.name) for each in self.page.row_buttons if each.row not in line.rows}
        own = (each.name for each in self.page.row_buttons if each.row in line.rows)
        return any(
            words(self._without_typed(each)) and fold(each) not in others and not is_another_deed(each)
            for each in own
        )

    def _is_denied_elsewhere(self) -> bool:
        """Whether a sentence anywhere on the page says of a text that it is not kept."""
        return any(
            any(stands_in(each, fold(line.text)) for each in self._long) and self._denies(line.text)
            for line in self.page.lines
        )

    def _is_denied_around(self, line: RecordLine) -> bool:
        """Whether the cells of its row deny it by the names of their columns, or a new line outside of rows denies or doubts something:
        `This boat was not added`, `Status: Rejected` on its own page, `1 of 2 boats could not be stored` below a list.
        """
        if any(denies_by_value(column, value) for column, value in line.cells):
            return True
        return any(
            (is_failure(said) or is_doubted(said))
            and fold(each.text) not in self.offered.lines
            and each.area != "beside"
            and len(each.plain) <= _LONGEST_MESSAGE
            for each in self.page.lines
            if not each.rows and (said := self._without_typed(each.plain))
        )

    def _denies(self, text: str) -> bool:
        rest = self._without_typed(text)
        return is_negated(rest) or is_failure(rest) or is_doubted(rest)

    @property
    def _long(self) -> list[str]:
        return [each for each in self.typed if _LONG.search(each)]

    def _without_typed(self, text: str) -> str:
        return _cut(fold(text), self.typed)

    # -- the line

    def _list_own(self, line: RecordLine) -> frozenset[str]:
        """Return the texts that a line shows as evidence, and of which the page has more than before."""
        if line.area != "content" or line.unseen:
            return frozenset()
        said = {
            each
            for each in self._long
            if _is_own(line, each, self.typed) and not self._is_in_address(each) and self._is_more(each)
        }
        if any(not _is_number(each) or self._is_named(line.column, each) for each in said):
            return frozenset(said)
        return frozenset()  # a number alone may be any number

    def _is_named(self, column: str, text: str) -> bool:
        named = self.typed[text] | self.about if self.told else self.typed[text]
        return share_a_word(named, words(column))

    def _is_in_address(self, text: str) -> bool:
        parts = urlsplit(self.url)
        plain = _as_words(text)
        asked = _as_words(unquote(f"{parts.query} {parts.fragment}"))
        return stands_in(plain, asked) or plain in map(_as_words, unquote(parts.path).split("/"))

    def _is_more(self, text: str) -> bool:
        if self.before is None:
            return True
        now, then = (
            sum(each.area == "content" and _is_own(each, text, self.typed) for each in lines)
            for lines in (self.page.lines, self.before)
        )
        return now > then

    def _is_record(self, line: RecordLine) -> bool:
        """Whether a line stands where the page shows what the task is about, and nothing beside it says that it is not kept."""
        subject = self.about.union(*self.typed.values())
        names = [rest for each in (*line.names, self.page.title) if (rest := self._without_typed(each))]
        if is_doubted(self._without_typed(line.near)) or any(map(is_no_heading, names)):
            return False
        parts = urlsplit(self.url)
        address = _cut(
            _as_words(unquote(f"{parts.path} {parts.query} {parts.fragment}")), map(_as_words, self._long)
        )
        if is_doubted(address) or any(find_report_words(each) - subject for each in (*names, address)):
            return False
        if self.told:
            return True
        nearest = [each for each in line.nearest if each != line.top]
        if nearest and not any(self._is_about(each, subject) for each in nearest):
            return False
        return any(self._is_about(each, subject) for each in (*names, *line.names, line.column, address))

    def _is_about(self, name: str, subject: frozenset[str]) -> bool:
        return share_a_word(subject, words(name)) or any(stands_in(each, fold(name)) for each in self._long)

    # -- the other texts

    def _has_others(self, line: RecordLine, own: Collection[str]) -> bool:
        """Whether the record has each other text, or this kind of page shows it of no record."""
        within = [
            each
            for each in self.page.lines
            if each.area != "report" and (line.row < 0 or line.row in each.rows)
        ]
        alone = len(within) == 1 and line.row >= 0
        for text, named in self.typed.items():
            if text in own or self._is_among(text, named, within):
                continue
            has_place = any(
                share_a_word(named, words(self._without_typed(each))) for each in self.page.labels
            )
            if has_place or (_LONG.search(text) and (self.before is None or not (line.columns or alone))):
                return False
        return True

    def _is_among(self, text: str, named: frozenset[str], lines: Sequence[RecordLine]) -> bool:
        if any(_is_own(each, text, self.typed) for each in lines):
            return True
        if _LONG.search(text) is None:
            return any(
                stands_in(text, fold(each.text)) and share_a_word(named, words(f"{each.column} {each.text}"))
                for each in lines
            )
        return len(text.split()) > 1 and stands_in(text, fold(" ".join(each.text for each in lines)))


def is_judged_by_texts(task: Task) -> bool:
    """Whether a task was drafted, and has nothing of its own that tells whether it was done."""
    own = task.success_criteria or task.read_back or task.already_done_when
    return DRAFT in task.metadata and not own


def _name_field(each: PageField) -> str:
    return fold(each.name) or each.kind


def _is_own(line: RecordLine, text: str, typed: Mapping[str, frozenset[str]]) -> bool:
    """Whether a line says a text and nothing else but other typed texts and the name of its field; links beside it are none of it."""
    said = [line.text, line.plain, *(() if _has_letters(line.plain) else line.links)]
    return any(_says(fold(each), text, typed) for each in said)


def _says(said: str, text: str, typed: Mapping[str, frozenset[str]]) -> bool:
    if _is_number(text) and _NUMBER.fullmatch(said):
        return _digits(said) == _digits(text)
    if not stands_in(text, said):
        return False
    rest = set(words(_cut(said, [text, *(each for each in typed if _LONG.search(each))])))
    return rest <= typed[text]


def _cut(said: str, texts: Iterable[str]) -> str:
    """Return a folded text without others that stand in it as whole words."""
    for each in sorted(texts, key=len, reverse=True):
        if stands_in(each, said):
            said = re.sub(rf"(?<!\w){re.escape(each)}(?!\w)", " ", said)
    return said.strip()


def _has_letters(text: str) -> bool:
    return any(each.isalpha() for each in text)


def _is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None


def _digits(text: str) -> str:
    return re.sub(r"\D", "", _NO_CENTS.sub("", text.strip(" \u00a0$\u20ac\u00a3\u20b9%+-")))


async def _list_alerts(page: Page) -> list[str]:
    """Return what a page announces (`role=alert`) or marks as an error or a warning. Raises `PageError`."""
    signs = await read_refusal_signs(page)
    return [fold(each.text) for each in signs.messages if each.live or each.wrong or each.warning]


def _list_said(lines: Iterable[RecordLine]) -> frozenset[str]:
    return frozenset(_without_digits(each.text) for each in lines)


def _without_digits(text: str) -> str:
    return _DIGITS.sub("", fold(text))


def _as_words(text: str) -> str:
    return " ".join(re.findall(r"\w+", re.sub("_", " ", text.casefold())))


def _list_telling(text: str) -> frozenset[str]:
    return frozenset(words(text)) - _GENERAL
