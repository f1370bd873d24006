"""A text that was cut in the middle of a disguised secret keeps less than six characters of it."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.redaction import REDACTED, SHORTEST_CUT_TEXT, Secrets
from agent.secret_disguises import SHORTEST_CUT, WITHHELD, SecretDisguises, _normalise
from tests.support.hostile_spellings import RECOGNISED

SECRET = "c0rrect-Horse7"
PARTS = {SECRET[at : at + SHORTEST_CUT] for at in range(len(SECRET) - SHORTEST_CUT + 1)}
LETTERS = _normalise(SECRET)
PLAIN = {LETTERS[at : at + SHORTEST_CUT] for at in range(len(LETTERS) - SHORTEST_CUT + 1)}
BACKWARDS = {part[::-1] for part in PLAIN}
RECOGNISER = SecretDisguises(part for part in PARTS if len(_normalise(part)) == SHORTEST_CUT)
"""Recognises six characters of the secret in each disguise; as plain letters they are in `PLAIN`."""
FEW_HEADS = {"base64 of percent", "base64 of hexadecimal", "base64 of UTF-16"}
"""Spellings of which, cut off at one place in front, the rest is left."""


def _redact(text: str, *secrets: str) -> str:
    kept = Secrets()
    kept.keep(list(secrets) or SECRET)
    return str(kept.redact(text))


def _has_a_part(text: str) -> bool:
    plain = _normalise(text)
    return RECOGNISER.found_in(text) or any(part in plain for part in PLAIN | BACKWARDS)


def test_the_recogniser_of_these_tests_finds_parts():
    for part in ("C0RREC", "THORSE", "7esroh", base64.b64encode(b"c0rrec").decode(), b"Horse7".hex()):
        assert _has_a_part(f"it is {part} !")
    assert not _has_a_part("it is c0rre !")


@pytest.mark.parametrize("spelling", RECOGNISED)
def test_nothing_is_left_before_an_ellipsis_wherever_a_secret_was_cut(spelling):
    kept, spelt = Secrets(), RECOGNISED[spelling](SECRET)
    kept.keep(SECRET)
    for end in range(SHORTEST_CUT, len(spelt)):
        left = kept.redact(f'the page says "{spelt[:end]}…" !')
        assert not _has_a_part(left), (spelt[:end], left)
        assert left.startswith('the page says "')
        assert left.endswith('…" !')
        assert WITHHELD not in left


@pytest.mark.parametrize("spelling", RECOGNISED)
def test_nothing_is_left_at_the_end_of_a_long_text_that_was_cut(spelling):
    kept, spelt = Secrets(), RECOGNISED[spelling](SECRET)
    kept.keep(SECRET)
    for end in range(SHORTEST_CUT, len(spelt), 2):
        left = kept.redact(f"the office did not like what you entered: {spelt[:end]}")
        assert not _has_a_part(left), (spelt[:end], left)
        assert left.startswith("the office did not like what you entered: ")


@pytest.mark.parametrize("spelling", RECOGNISED)
def test_nothing_is_left_after_an_ellipsis(spelling):
    kept, spelt = Secrets(), RECOGNISED[spelling](SECRET)
    kept.keep(SECRET)
    parts = [
        spelt[start:]
        for start in range(1, len(spelt) - SHORTEST_CUT, 2)
        if _has_a_part(kept.redact(f"it says …{spelt[start:]} and more"))
    ]
    assert len(parts) <= (spelling in FEW_HEADS), parts


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('the message is "C0RRECT-HO…"', f'the message is "{REDACTED}…"'),
        ("the message is C0RRECT-HO...", f"the message is {REDACTED}..."),
        ('{"said": "C0RRECT-HO\\u2026"}', f'{{"said": "{REDACTED}\\u2026"}}'),
        ("<p>C0RRECT-HO&hellip;</p>", f"<p>{REDACTED}&hellip;</p>"),
        ("C0RRE… and so on", "C0RRE… and so on"),
        ("it is the c0rrector…", "it is the c0rrector…"),
        ("C0RRECT-HO", "C0RRECT-HO"),
        ("C0RRECT-HO is not a good one, it says so", "C0RRECT-HO is not a good one, it says so"),
    ],
)
def test_what_looks_cut_and_what_does_not(text, left):
    assert _redact(text) == left


def test_a_short_name_that_a_secret_begins_with_is_left():
    assert _redact("Password", "password-17") == "Password"
    assert _redact("x" * SHORTEST_CUT_TEXT + " Password", "password-17").endswith(f" {REDACTED}")


def test_every_part_is_taken_out_of_a_text_with_many():
    text = _redact("; ".join(f"{at} C0RRECT-HO…" for at in range(50)))
    assert not _has_a_part(text)
    assert text.count(REDACTED) == 50


@given(st.text(st.characters(codec="utf-8"), max_size=80), st.sampled_from(["…", "...", ""]))
def test_other_texts_that_were_cut_stay_as_they_are(text, end):
    assert _redact(f"{text * 3}{end}") == f"{text * 3}{end}"
