"""The phrases of Given/When/Then steps: one registered phrase each, with an example to copy.

Names and values are in double quotes; the words outside of them belong to the phrase. A step that fits no
phrase is a problem that names the nearest examples: nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rapidfuzz import fuzz, process

from kb_schema.expected_outcomes import OutcomesUnreadable, canonical, parse_outcomes, render_outcome
from kb_schema.registry import Registry
from kb_schema.verification import ExpectedOutcome

_NOUNS = (
    "field|input|box|text ?box|text ?area|button|link|check ?box|option|choice|radio button|radio|tab|menu item|menu|"
    "item|icon|list|drop-?down|combo ?box|select|form|dialog|section|area|region|panel|table|page|card|window|switch|"
    "toggle|heading|message|element|row|cell|file|group|list item|banner|toast|alert"
)
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"|\u201c([^\u201d]*)\u201d', re.DOTALL)
_MARK = "\x02(?P<{name}>\\d+)\x02"
_KEYS = re.compile(
    r"(?:(?:Control|Ctrl|Shift|Alt|Meta|Cmd|Command|ControlOrMeta)\+)*"
    r"(?:Enter|Return|Tab|Esc(?:ape)?|Space|Backspace|Delete|Home|End|Page(?:Up|Down)|Arrow(?:Up|Down|Left|Right)|"
    r"Insert|F\d{1,2}|(?<=\+)\S)"
)


@dataclass(frozen=True, slots=True)
class ParsedAction:
    """An action."""

    action: str
    element: str | None = None
    region: str | None = None
    value: str | None = None


@dataclass(frozen=True, slots=True)
class ParsedOutcome:
    """Expected outcomes."""

    outcomes: tuple[ExpectedOutcome, ...]


@dataclass(frozen=True, slots=True)
class ParsedPage:
    """The current page: a name, path or URL."""

    where: str


@dataclass(frozen=True, slots=True)
class ParsedSignIn:
    """The task that signs in."""

    task: str


@dataclass(frozen=True, slots=True)
class ParsedFieldTable:
    """The fields and values are in the table under the step."""

    region: str | None = None


ParsedPhrase = ParsedAction | ParsedOutcome | ParsedPage | ParsedSignIn | ParsedFieldTable


class PhraseNotUnderstood(ValueError):
    """Raised if no phrase fits. `fix`: what to write."""

    def __init__(self, message: str, fix: str) -> None:
        super().__init__(message)
        self.message, self.fix = message, fix


@dataclass(frozen=True, slots=True)
class StepPhrase:
    """One way to write a step. In its pattern `E` is an element, `R` its region, `V` a value, all in
    quotes.
    """

    example: str
    pattern: re.Pattern[str]
    meaning: Callable[[Mapping[str, str]], ParsedPhrase]


PHRASES = Registry[StepPhrase]("phrase")
"""By example. The first one that fits counts."""


def _phrase(example: str, pattern: str, meaning: Callable[[Mapping[str, str]], ParsedPhrase]) -> None:
    region = (
        f"(?: (?:in|on|of|within|inside|under|at) (?:the )?{_MARK.format(name='region')}(?: (?:{_NOUNS}))?)?"
    )
    for mark, full in (
        ("{E}", f"(?:the |an? )?{_MARK.format(name='element')}(?: (?:{_NOUNS}))?{region}"),
        (
            "{B}",
            f"(?:the |an? )?{_MARK.format(name='element')} (?:button|link|tab|icon|menu item|menu|item){region}",
        ),
        (
            "{C}",
            f"(?:the |an? )?{_MARK.format(name='element')} (?:radio button|radio|choice|check ?box){region}",
        ),
        ("{S}", f"(?:the |an? )?{_MARK.format(name='element')} (?:{_NOUNS}){region}"),
        ("{R}", f"(?:the )?{_MARK.format(name='region')}(?: (?:{_NOUNS}))?"),
        ("{V}", f"(?:the |an? )?(?:option |value |text |file |key )?{_MARK.format(name='value')}"),
    ):
        pattern = pattern.replace(mark, full)
    PHRASES.register(example)(StepPhrase(example, re.compile(pattern), meaning))


def _act(action: str, value: str | None = None) -> Callable[[Mapping[str, str]], ParsedPhrase]:
    return lambda said: ParsedAction(
        action, said.get("element"), said.get("region"), said.get("value", value)
    )


def _see(kind: str) -> Callable[[Mapping[str, str]], ParsedPhrase]:
    def meaning(said: Mapping[str, str]) -> ParsedPhrase:
        outcome = ExpectedOutcome(
            kind=kind,
            said="",
            element=said.get("element"),
            region=said.get("region"),
            value=said.get("value"),
        )
        return ParsedOutcome((outcome.model_copy(update={"said": render_outcome(outcome)}),))

    return meaning


_phrase(
    'I am on "/login"', "(?:am|is) (?:on|at) (?:page )?{V}(?: page)?", lambda said: ParsedPage(said["value"])
)
_phrase(
    'I am taken to "Agents"',
    "(?:am|is) (?:taken|redirected|sent|led|brought) to {V}(?: page)?",
    lambda said: ParsedOutcome(
        (ExpectedOutcome(kind="navigates_to", said=f"navigates_to:{said['value']}", value=said["value"]),)
    ),
)
_phrase(
    'I am signed in with "login"',
    "(?:am|is) (?:signed|logged) in (?:with|by|through|using) {V}(?: task)?",
    lambda said: ParsedSignIn(said["value"]),
)
_phrase('I go to "/agent"', "(?:go|navigate|browse) to {V}(?: page)?", _act("navigate"))
_phrase('I open "/agent"', "(?:open|visit) (?:page )?{V}(?: page)?", _act("navigate"))
_phrase('I fill "Email" with "ada@example.com"', "fill(?: in| out)? {E} with {V}", _act("fill"))
_phrase(
    'I enter "Ada" into "Name"', "(?:enter|write|put|input|fill) {V} (?:in|into|to|as|for) {E}", _act("fill")
)
_phrase('I set "Name" to "Ada"', "set {E} to {V}", _act("fill"))
_phrase('I type "Ada" into "Name"', "type {V} (?:in|into|to) {E}", _act("type"))
_phrase('I clear "Name"', "(?:clear|empty) {E}", _act("fill", ""))
_phrase(
    'I fill in the "Agent form" with:',
    "(?:fill|fill in|fill out|complete) {R}(?: with)?(?: the following)?:?",
    lambda said: ParsedFieldTable(said["region"]),
)
_phrase(
    "I fill in:",
    "(?:fill|fill in|fill out|enter|set)(?: the (?:form|fields|following))?(?: with)?:?",
    lambda _: ParsedFieldTable(),
)
_phrase('I press the "Save" button', "(?:press|push|hit) {B}", _act("click"))
_phrase('I press "Enter" in "Search"', "(?:press|hit) {V}(?: key)?(?: (?:in|on|at) {E})?", _act("press"))
_phrase('I click "Save" in the "Agent form"', "(?:click|tap)(?: on)? {E}", _act("click"))
_phrase('I choose the "Bright" radio button', "(?:choose|select|pick) {C}", _act("check"))
_phrase(
    'I upload "contacts.csv" to "Choose file"',
    "(?:upload|attach) {V} (?:to|into|in|as|at|with|through|for) {E}",
    _act("upload"),
)
_phrase(
    'I select "Spanish" from "Language"',
    "(?:select|choose|pick) {V}(?: option)? (?:in|from|for|as|on) {E}",
    _act("select"),
)
_phrase('I check "Record calls"', "(?:check|tick|turn on|switch on) {E}", _act("check"))
_phrase('I uncheck "Record calls"', "(?:uncheck|untick|turn off|switch off) {E}", _act("uncheck"))
_phrase('I hover over "Help"', "(?:hover|move the pointer)(?: over| on)? {E}", _act("hover"))
_phrase('I focus "Name"', "(?:focus|put the cursor)(?: on| in| into)? {E}", _act("focus"))

_phrase(
    'I see the message "Saved"',
    "(?:see|sees|get|gets) (?:the |a )?(?:message|toast|alert|notification) {V}",
    _see("message"),
)
_phrase(
    'the message "Saved" appears',
    "(?:the |a )?(?:message|toast|alert|notification) {V} (?:appears|is shown)",
    _see("message"),
)
_phrase('I see the heading "Agents"', "(?:see|sees) (?:the )?heading {V}", _see("heading"))
_phrase('I see the "Save" button', "(?:see|sees) {S}", _see("visible"))
_phrase('I see "Welcome back"', "(?:see|sees) {V}", _see("shows"))
_phrase('I do not see the "Save" button', "(?:do not|does not|cannot) see {S}", _see("hidden"))
_phrase('I do not see "Error"', "(?:do not|does not|cannot) see {V}", _see("not_shows"))
_phrase('the heading is "Agents"', "(?:the )?heading (?:is|says|reads) {V}", _see("heading"))
_phrase('the title is "Agents"', "(?:the )?(?:page |document )?title (?:is|says|reads) {V}", _see("title"))
_phrase('the URL is "/agent"', "(?:the )?(?:url|address|path) is {V}", _see("url"))
_phrase(
    "I stay on the page",
    "(?:stay|stays|remain|remains|am still|is still) on (?:the same|this|the) page",
    _see("stays_on_page"),
)
_phrase(
    'the "Delete agent?" dialog opens',
    "(?:the |a )?{V} (?:dialog|window|popup) (?:opens|appears|is open|is shown)",
    _see("dialog_opens"),
)
_phrase(
    "a dialog opens",
    "(?:the |a )?(?:dialog|window|popup)(?: {V})? (?:opens|appears|is open|is shown)",
    _see("dialog_opens"),
)
_phrase(
    'the "Delete agent?" dialog closes',
    "(?:the )?{V} (?:dialog|window|popup) (?:closes|disappears|is closed)",
    _see("dialog_closes"),
)
_phrase(
    "the dialog closes",
    "(?:the )?(?:dialog|window|popup)(?: {V})? (?:closes|disappears|is closed)",
    _see("dialog_closes"),
)
_phrase(
    '"Spanish" is selected in "Language"',
    "{V} is (?:selected|chosen) (?:in|from|as|for) {E}",
    _see("selected"),
)
_phrase(
    'the "Name" field is invalid with "Enter a name"',
    "{E} is (?:marked as |marked )?invalid(?:,)? (?:with|and says|saying)(?: the message)? {V}",
    _see("invalid"),
)
_phrase(
    'the "Name" field shows the error "Enter a name"',
    "{E} (?:shows|has|says) (?:the |an )?error {V}",
    _see("invalid"),
)
_phrase(
    'the "Name" field has the value "Ada"',
    "{E} (?:has|contains|holds|is set to) (?:the )?(?:value )?{V}",
    _see("field_value"),
)
_phrase('the "Total" element says "42"', "{E} (?:says|reads|shows|has the text|has text) {V}", _see("text"))
_phrase('a file "report.csv" is downloaded', "(?:a |the )?(?:file )?{V} is downloaded", _see("downloads"))
_phrase("a file is downloaded", "(?:a|the) file is downloaded", _see("downloads"))
_phrase(
    "the console has no errors",
    "(?:the console has no errors|there are no (?:console )?errors)",
    _see("no_console_errors"),
)
_phrase(
    'a model judges "it sounds like a confirmation"',
    "(?:a|the) (?:language )?model judges (?:that )?{V}",
    _see("judged"),
)
_phrase(
    'there are 3 "Row" in "Agents"',
    "there (?:are|is) (?P<number>\\d+) {E}",
    lambda said: _see("count")({**said, "value": said["number"]}),
)
for _words, _kind in {
    "invalid|marked as invalid|marked invalid": "invalid",
    "disabled": "disabled",
    "enabled": "enabled",
    "checked|ticked": "checked",
    "unchecked|not checked|unticked|not ticked": "unchecked",
    "visible|shown|displayed": "visible",
    "hidden|not visible|not shown|not displayed|gone": "hidden",
    "focused": "focused",
    "empty": "field_empty",
    "filled|populated|filled in|not empty": "field_populated",
}.items():
    _phrase(f'the "Name" field is {_words.partition("|")[0]}', f"{{E}} is (?:{_words})", _see(_kind))
    _phrase(f"it is {_words.partition('|')[0]}", f"it is (?:{_words})", _see(_kind))
_phrase(
    'it has the value "Ada"',
    "it (?:has|contains|holds|is set to) (?:the )?(?:value )?{V}",
    _see("field_value"),
)
_phrase('it says "42"', "it (?:says|reads|shows|has the text|has text) {V}", _see("text"))
_phrase('"Spanish" is selected', "{V} is (?:selected|chosen)", _see("selected"))


_SUBJECT = re.compile(r"(?:i|we|they|(?P<other>(?:the |an? )?(?:user|visitor|customer|person|tester))) ")
_SAID_OF_OTHERS = {"goes": "go", "presses": "press", "pushes": "push", "attaches": "attach"}
"""`The user goes` is read as `I go`; other verbs just lose their `s`."""
_LEFT_AS_THEY_ARE = frozenset({"is", "does", "press", "sees"})
_MODAL = (
    (re.compile(r"\b(?:should|must|shall|will) not be\b"), "is not"),
    (re.compile(r"\b(?:should|must|shall|will) be\b"), "is"),
    (re.compile(r"\b(?:should|must|shall|will) have\b"), "has"),
    (
        re.compile(r"\b(?:should|must|shall|will|can) not\b|\bshouldn't\b|\bwon't\b|\bdon't\b|\bdoesn't\b"),
        "do not",
    ),
    (re.compile(r"\b(?:should|must|shall|will|can|then|now|also) "), ""),
)


def parse_phrase(text: str) -> ParsedPhrase:
    """Return the meaning of a step's text, given without its keyword. Raises `PhraseNotUnderstood`."""
    if canonical(text.partition(":")[0]) is not None:
        return _in_the_vocabulary(text)
    quoted: list[str] = []

    def keep(match: re.Match[str]) -> str:
        quoted.append(_unescaped(match[1]) if match[1] is not None else match[2])
        return f"\x02{len(quoted) - 1}\x02"

    words = _plain(_QUOTED.sub(keep, text.replace("\x02", " ")))
    for phrase in PHRASES.values():
        found = phrase.pattern.fullmatch(words)
        if found is not None:
            said = {name: value for name, value in found.groupdict().items() if value is not None}
            said = {name: value if name == "number" else quoted[int(value)] for name, value in said.items()}
            return _with_a_key(phrase.meaning(said))
    raise PhraseNotUnderstood("no phrase fits this step", f"write it as one of: {'; '.join(_nearest(text))}")


def _plain(words: str) -> str:
    """Normalise the words of a step: lower case, first person, without `should`."""
    words = " ".join(words.split()).lower().rstrip(".")
    subject = _SUBJECT.match(words)
    if subject is not None:
        words = words[subject.end() :]
        verb, space, rest = words.partition(" ")
        if subject["other"] and verb not in _LEFT_AS_THEY_ARE:
            words = _SAID_OF_OTHERS.get(verb, verb.removesuffix("s")) + space + rest
    for pattern, plain in _MODAL:
        words = pattern.sub(plain, words)
    return words


def _with_a_key(meaning: ParsedPhrase) -> ParsedPhrase:
    """Check the key of `I press "Save"`. Raises `PhraseNotUnderstood` if it is no key but perhaps a button."""
    if (
        isinstance(meaning, ParsedAction)
        and meaning.action == "press"
        and not _KEYS.fullmatch(meaning.value or "")
    ):
        said = meaning.value
        fix = f'write `I click "{said}"` or `I press the "{said}" button`; keys are named as Enter, Tab, Control+A'
        raise PhraseNotUnderstood(f'"{said}" is no key', fix)
    return meaning


def _in_the_vocabulary(text: str) -> ParsedOutcome:
    try:
        return ParsedOutcome(parse_outcomes(text))
    except OutcomesUnreadable as exc:
        raise PhraseNotUnderstood(exc.problems[0].message, exc.problems[0].fix) from exc


def _nearest(text: str) -> list[str]:
    return [found[0] for found in process.extract(text, list(PHRASES), scorer=fuzz.token_set_ratio, limit=3)]


def _unescaped(text: str) -> str:
    return re.sub(
        r"\\(.)", lambda match: {"n": "\n", "t": "\t"}.get(match[1], match[1]), text, flags=re.DOTALL
    )
