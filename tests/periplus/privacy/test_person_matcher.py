from __future__ import annotations

import base64
import json
import unicodedata
from urllib.parse import quote

import pytest

from periplus.errors import UserError
from periplus.privacy.person_matcher import PersonMatcher

MAIL, NAME = "ann@example.com", "Ann Müller"


@pytest.mark.parametrize(
    "text",
    [
        MAIL, "ANN@Example.com", f"<b>{MAIL}</b>", f"to:{MAIL},", quote(MAIL, safe=""), f"?a=1%26{quote(MAIL, safe='')}",
        "ann&#64;example.com", json.dumps({"a": f"line\n{MAIL}"}), json.dumps(f"\u00e4{MAIL}"), MAIL.encode().hex(),
        base64.b64encode(MAIL.encode()).decode(), base64.b64encode(f"user:{MAIL}:x".encode()).decode(),
        NAME, "ann  müller", "Ann\nMüller", "Ann&nbsp;Müller", "Ann+M%C3%BCller", json.dumps(NAME), "Ann&nbsp;M&uuml;ller",
        "ann_müller", quote(NAME), unicodedata.normalize("NFD", NAME), "&lt;ann&#x40;example.com",
    ],
)  # fmt: skip
def test_a_person_is_found_and_replaced_in_every_spelling(text):
    matcher = PersonMatcher([MAIL, NAME])
    assert matcher.matches(text)
    left = matcher.replace(text)
    assert "ERASED" in left
    assert not matcher.matches(left)


@pytest.mark.parametrize(
    "text",
    ["", "joann@example.com", "ann@example.community", "Ann", "Joann Müllers", "annual", "example.com"],
)
def test_other_people_and_words_stay(text):
    assert not PersonMatcher([MAIL, NAME]).matches(text)


def test_a_short_name_is_no_part_of_other_words():
    matcher = PersonMatcher(["Ann"])
    assert matcher.replace("Ann's plan for annual banners, ANN") == "ERASED's plan for annual banners, ERASED"


@pytest.mark.parametrize("text", ["", "a", "  ab  "])
def test_what_is_too_short_is_refused(text):
    with pytest.raises(UserError):
        PersonMatcher([MAIL, text])
