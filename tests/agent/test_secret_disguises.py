"""A secret that a page repeats so that it is not recognised is cut out of every text around it."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.redaction import REDACTED, Secrets
from agent.secret_disguises import (
    _PRINTABLE,
    LONG,
    WITHHELD,
    SecretDisguises,
    _list_hexadecimal,
    _list_printable,
    _normalise,
    _normalise_letters,
)
from tests.support.hostile_spellings import RECOGNISED, UNRECOGNISED

SECRET = "c0rrect-Horse7"
AROUND = {
    "words": "before {} after",
    "an attribute": '<main><p title="{}">words</p></main>',
    "a text": "<main><p>it is {}, keep it</p></main>",
    "a script": "<script>let kept = `{}`;</script>",
    "a comment": "<p>a</p><!-- {} --><p>b</p>",
    "a page in a page": None,
    "JSON": None,
    "an address": "http://site.test/x?kept={}&more=1#top",
    "alone": "{}",
}


def _put(spelt: str, where: str) -> str:
    match where:
        case "a page in a page":
            return f'<iframe srcdoc="{html.escape(f"<p>{spelt}</p>")}"></iframe>'
        case "JSON":
            return json.dumps({"said": [f"it is {spelt}."]})
        case _:
            return str(AROUND[where]).replace("{}", spelt)


@pytest.mark.parametrize("where", AROUND)
@pytest.mark.parametrize("spelling", RECOGNISED)
def test_a_disguised_secret_is_cut_out_of_what_is_around_it(spelling, where):
    assert len(RECOGNISED) >= 60
    secrets, disguises = Secrets(), SecretDisguises([SECRET])
    secrets.keep(SECRET)
    spelt = RECOGNISED[spelling](SECRET)
    text = _put(spelt, where)
    left = secrets.redact(text)
    assert WITHHELD not in left, "it is cut out, and the rest is kept"
    assert REDACTED in left
    assert not disguises.found_in(left)
    for form in (spelt, html.escape(spelt), json.dumps(spelt)[1:-1]):
        assert form.strip() not in left
    for word in ("before ", " after", "<main>", "</main>", "<script>let kept", "http://site.test/x?kept="):
        assert (word in left) == (word in text)
    if where == "JSON":
        json.loads(left)


@pytest.mark.parametrize("spelling", UNRECOGNISED)
def test_what_is_declared_unrecognisable_is_left(spelling):
    secrets = Secrets()
    secrets.keep(SECRET)
    text = f"it is {UNRECOGNISED[spelling](SECRET)}, keep it"
    assert secrets.redact(text) == text, "mend docs/inputs.md: this is recognised now"


def test_the_page_lists_what_is_not_recognised():
    page = (Path(__file__).parents[2] / "docs" / "inputs.md").read_text(encoding="utf-8")
    named = re.search(r"Not recognised are ([^.]+)\.", page)
    assert named is not None
    listed = " ".join(named[1].split())
    for word in (
        "hashes",
        "ciphers",
        "ascii85",
        "base85",
        "look-alike letters",
        "words between",
        "another order",
        "drawings",
    ):
        assert word in listed


@pytest.mark.parametrize(
    "text",
    [
        "<!--" * 50_000, "<a" * 50_000, "<a\"'" * 50_000, "\"<a'\"'" * 50_000, "&#" * 50_000, "&#" + "0" * 100_000,
        "\\u{000" * 50_000, "%25" * 50_000, "QUFB" * 50_000, "ICAg" * 50_000, "<" * 200_000, "20" * 100_000,
    ],
)  # fmt: skip
def test_a_page_made_to_take_time_is_read_in_time(text):
    """The time is linear in the length: were it quadratic, this would not end."""
    assert not SecretDisguises([SECRET]).found_in(text)


@given(st.text(st.characters(codec="utf-8"), max_size=300))
def test_other_texts_stay_as_they_are(text):
    secrets = Secrets()
    secrets.keep(SECRET)
    assert secrets.redact(text) == text


@given(
    before=st.text("ab <>&;%\\u\"'\n0", max_size=40),
    after=st.text("yz <>&;%\\x\"'\n9", max_size=40),
    name=st.sampled_from(sorted(RECOGNISED)),
)
def test_nothing_around_it_hides_it(before, after, name):
    """Neither half an escape nor half a tag before it."""
    disguises = SecretDisguises([SECRET])
    left = disguises.cut_from(f"{before} {RECOGNISED[name](SECRET)} {after}", REDACTED)
    assert not disguises.found_in(left)
    assert REDACTED in left or left == WITHHELD


def test_a_text_from_which_it_cannot_be_cut_is_withheld_and_says_so():
    disguises = SecretDisguises([SECRET])
    encoded = RECOGNISED["base64 spaced"](SECRET)
    left = disguises.cut_from(encoded.replace(" ", " ... "), REDACTED)
    assert left in (WITHHELD, REDACTED) or REDACTED in left
    assert not disguises.found_in(left)


def test_fragments_that_become_a_secret_when_one_between_them_is_cut_are_cut_too():
    secrets = Secrets()
    secrets.keep("hunter2go")
    assert "hunter" not in secrets.redact("hunhUnter2goter2go")


_PIECES = [
    b"a",
    b"Z ",
    b"\0",
    b"\0b",
    b"c\0",
    "é".encode(),
    "€".encode(),
    "😀".encode(),
    b"\xc3",
    b"\x80",
    b"\xff",
]


@given(st.lists(st.sampled_from(_PIECES), max_size=60).map(b"".join) | st.binary(max_size=200))
def test_the_fast_search_for_readable_parts_finds_those_of_the_pattern(data):
    assert [*_list_printable(data)] == _PRINTABLE.findall(data)


_WIDE = [
    "e\u0301",
    "Å",
    "\u0301",
    "İ",
    "ß",
    "ﬁ",
    "가",
    "\u1100\u1161",
    "ﾊ\uff9e",
    "Ω",
    "—",
    "\U000e0041",
    "\u3164",
]


@given(
    st.lists(st.sampled_from([*_WIDE, "a", "Z9", " ", "-"]) | st.text(max_size=3), max_size=60).map("".join)
)
def test_a_long_text_normalised_in_pieces_is_that_of_the_whole(text):
    text = text.encode("utf-8", "replace").decode()
    filled = "x" * LONG
    assert _normalise(text + filled) == _normalise_letters(text + filled)
    assert _normalise(filled + text) == _normalise_letters(filled + text)


@given(st.text("0aFg", max_size=60).map(str.encode))
def test_the_fast_search_for_hexadecimal_finds_what_the_pattern_does(data):
    pattern = re.compile(rb"(?:[0-9a-fA-F]{2}){8,}")
    assert [*_list_hexadecimal(data)] == [run.span() for run in pattern.finditer(data)]


@pytest.mark.parametrize(
    "secret", ["483920", "Zephyr!Kw93pLum", "Gr\u00fc\u00dfe!Kw93pLum", "a1-b2-c3", "correcthorsebattery"]
)
@pytest.mark.parametrize("times", [1, 2, 3, 4])
def test_octal_escapes_of_octal_escapes_are_read(secret: str, times: int) -> None:
    said = secret
    for _ in range(times):
        said = "".join(f"\\{ord(each):03o}" for each in said)
    secrets = Secrets()
    secrets.keep(secret)
    left = secrets.redact(f"The value is {said} today")
    assert REDACTED in left
    read = left.replace(REDACTED, "")
    for _ in range(times):
        read = re.sub(r"\\([0-3][0-7]{2})", lambda match: chr(int(match[1], 8)), read)
    assert not set(secret) & set(read.removeprefix("The value is ").removesuffix(" today"))
