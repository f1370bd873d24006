"""Reads plain sentences of test cases: `Click Save`, ``Enter `Ann` in Name``, ``The message `Saved` appears``.

A sentence becomes one of the quoted phrases of `step_phrases`; values must be quoted, names need not be. A sentence that
is not plain is a problem: nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from agent.verification.planning.step_phrases import ParsedPhrase, PhraseNotUnderstood, parse_phrase

_QUOTES = re.compile(r"`([^`]+)`|(?<!\w)'([^']+)'(?!\w)|\u201c([^\u201d]+)\u201d|\u2018([^\u2019]+)\u2019")
_NOUN = (
    r"(?: (?:button|link|tab|icon|menu item|menu|field|input|text ?box|text ?area|list|drop-?down|combo ?box|check ?box|"
    r"box|switch|toggle|radio button|option))?"
)
_NAME = r'(?:the |an? )?(?P<name>(?!that\b|if\b|whether\b)[^"`,;:]{1,60}?)'
_QUOTED = r'"(?P<value>[^"]*)"'
_ASKED = re.compile(
    r"(?:please )?(?:verify|check|confirm|ensure|make sure|assert|expect|observe)(?: that| if)? (?P<rest>.+)",
    re.IGNORECASE,
)
_SHOWN = r"(?:appears|is shown|is displayed|is visible|shows up|is seen)"
_STATE = (
    "visible|shown|displayed|hidden|not visible|not shown|not displayed|enabled|disabled|checked|unchecked|not checked|"
    "focused|empty|invalid"
)
_REWRITTEN: tuple[tuple[str, str], ...] = (
    (rf"(?:click|tap)(?: on)? {_NAME}{_NOUN}", 'I click "{name}"'),
    (rf"(?:press|push|hit) {_NAME} (?:button|link|tab|icon|menu item)", 'I click "{name}"'),
    (r"(?:press|hit) (?:the )?(?P<name>\S+)(?: key)?", 'I press "{name}"'),
    (
        rf"(?:enter|write|input|put|type|fill in) {_QUOTED} (?:in|into|to|as|for) {_NAME}{_NOUN}",
        'I enter "{value}" into "{name}"',
    ),
    (rf"fill(?: in| out)? {_NAME}{_NOUN} with {_QUOTED}", 'I fill "{name}" with "{value}"'),
    (rf"set {_NAME}{_NOUN} to {_QUOTED}", 'I fill "{name}" with "{value}"'),
    (rf"(?:clear|empty) {_NAME}{_NOUN}", 'I clear "{name}"'),
    (
        rf"(?:select|choose|pick) {_QUOTED}(?: option)? (?:from|in|for|as) {_NAME}{_NOUN}",
        'I select "{value}" from "{name}"',
    ),
    (rf"(?:check|tick|turn on|switch on) {_NAME} (?:check ?box|box|switch|toggle)", 'I check "{name}"'),
    (rf"(?:tick|turn on|switch on) {_NAME}", 'I check "{name}"'),
    (rf"(?:uncheck|untick|turn off|switch off) {_NAME}(?: (?:check ?box|box|switch|toggle))?", 'I uncheck "{name}"'),
    (rf"hover(?: over| on) {_NAME}{_NOUN}", 'I hover over "{name}"'),
    (rf"(?:upload|attach) {_QUOTED} (?:to|into|in|as|at|with|for) {_NAME}{_NOUN}", 'I upload "{value}" to "{name}"'),
    (r"(?:open|visit|go to|navigate to|browse to) (?:page )?(?P<name>/\S*|https?://\S+)(?: page)?", 'I open "{name}"'),
    (r"(?:user |i )?(?:is|am) (?:on|at) (?:page )?(?P<name>/\S*|https?://\S+)(?: page)?", 'I am on "{name}"'),
    (rf"(?:the |an? )?(?:success |error |confirmation )?(?:message|toast|alert|notification) {_QUOTED} {_SHOWN}",
     'the message "{value}" appears'),
    (rf"(?:the )?heading {_QUOTED} {_SHOWN}", 'I see the heading "{value}"'),
    (rf"(?:the )?(?:text )?{_QUOTED} {_SHOWN}", 'I see "{value}"'),
    (rf"(?:the )?(?:text )?{_QUOTED} (?:does not appear|is not shown|is not displayed|is not visible)",
     'I do not see "{value}"'),
    (rf"{_NAME} page (?:opens|loads|{_SHOWN})", 'I am taken to "{name}"'),
    (rf"{_NAME} (?:dialog|window|popup) (?P<what>opens|closes|appears|disappears)", 'the "{name}" dialog {what}'),
    (rf"{_NAME} (?:button|link|tab|field|input|list|check ?box|switch) is (?P<what>{_STATE})", 'the "{name}" field is {what}'),
    (rf"{_NAME} (?:field|input|list) (?:has|contains|shows|holds)(?: the)?(?: value)? {_QUOTED}",
     'the "{name}" field has the value "{value}"'),
)  # fmt: skip
_PATTERNS = [(re.compile(pattern, re.IGNORECASE), phrase) for pattern, phrase in _REWRITTEN]
_COMPOUND = re.compile(r"\b(?:and|then|or)\b", re.IGNORECASE)
EXAMPLES = "Click Save; Enter `Ann` in Name; The message `Saved` appears"


def parse_sentence(text: str) -> ParsedPhrase:
    """Return the meaning of a sentence. Raises `PhraseNotUnderstood`."""
    plain = _QUOTES.sub(lambda found: '"' + next(filter(None, found.groups())) + '"', text.strip()).rstrip(
        "."
    )
    asked = _ASKED.fullmatch(plain)
    for each in (*([asked["rest"]] if asked else []), plain):
        for written in _list_phrases(each):
            try:
                return parse_phrase(written)
            except PhraseNotUnderstood as exc:
                if "is no key" in exc.message:
                    raise
    raise PhraseNotUnderstood(
        "no plain sentence", f"write one act or outcome, with values in quotes: {EXAMPLES}"
    )


def _list_phrases(sentence: str) -> Iterator[str]:
    """Yield the sentence as quoted phrases, then as it is."""
    for pattern, phrase in _PATTERNS:
        found = pattern.fullmatch(sentence)
        if found is None:
            continue
        said = found.groupdict()
        if said.get("name") and _COMPOUND.search(said["name"]):
            continue
        yield phrase.format(**said)
    yield sentence
