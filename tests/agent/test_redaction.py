"""Secrets are found however they are spelt, and nothing else is lost."""

from __future__ import annotations

import base64
import html
import json
import re
from urllib.parse import quote, quote_plus, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.redaction import MOST_SHORT, REDACTED, SHORTEST, Secrets, redact_known
from kb_schema.templates import css_string, xpath_literal

HARD = 'O\'Brien "Bob" </script> {x} {{y}} ünï 你好'
PRINTABLE = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zs"]), min_size=8, max_size=30)

SPELLINGS = {
    "as it is": lambda text: text,
    "a query": lambda text: urlencode({"q": text}),
    "a path": lambda text: "/x/" + quote(text, safe=""),
    "a form": lambda text: "q=" + quote_plus(text),
    "lower hexadecimal": lambda text: re.sub("%..", lambda found: found[0].lower(), quote(text, safe="")),
    "text of a page": lambda text: f"<p>{html.escape(text, quote=False)}</p>",
    "an attribute": lambda text: f'<p title="{html.escape(text)}">',
    "a page in a page": lambda text: html.escape(f'<p title="{html.escape(text)}">'),
    "JSON": lambda text: json.dumps({"q": text}),
    "JSON with letters": lambda text: json.dumps({"q": text}, ensure_ascii=False),
    "JSON in JSON": lambda text: json.dumps(json.dumps({"q": text})),
    "Python": repr,
    "CSS": lambda text: f"[title={css_string(text)}]",
    "CSS in Python": lambda text: repr(f"tr:has-text({css_string(text)})"),
    "CSS in JSON": lambda text: json.dumps(f"tr:has-text({css_string(text)})"),
    "XPath": lambda text: f"//p[.={xpath_literal(text)}]",
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "a header": lambda text: base64.b64encode(f"user:{text}".encode()).decode(),
    "a longer header": lambda text: base64.b64encode(f"users:{text}\n".encode()).decode(),
    "hexadecimal": lambda text: text.encode().hex(),
}


@pytest.mark.parametrize("where", SPELLINGS)
def test_a_secret_is_taken_out_however_it_is_spelt(where):
    for secret in (HARD, "hunter2!", "correct horse battery staple"):
        kept, written = Secrets(), SPELLINGS[where](secret)
        kept.keep(secret)
        left = kept.redact(written)
        assert REDACTED in left
        assert secret not in left
        assert len(left) < len(written)


@given(secret=PRINTABLE, around=PRINTABLE, where=st.sampled_from(sorted(SPELLINGS)))
def test_no_secret_survives_in_any_spelling(secret, around, where):
    kept = Secrets()
    kept.keep(secret)
    whole = f"{around} {SPELLINGS[where](secret)} {around}"
    assert secret not in kept.redact(whole)
    assert REDACTED in kept.redact(whole)


@given(text=st.text("abc …%&;\\"), secret=st.text("XYZ789äß'", min_size=SHORTEST))
def test_a_text_without_the_secret_stays_as_it_is(text, secret):
    kept = Secrets()
    kept.keep(secret)
    assert kept.redact(text) == text


def test_secrets_inside_data_keys_and_numbers_are_taken_out():
    kept = Secrets()
    kept.keep({"pins": [482913, "hunter2"], "none": None, "flag": True})
    assert kept.redact({"a hunter2": (482913, "x482913"), "b": [True, None, 1]}) == {
        f"a {REDACTED}": [REDACTED, f"x{REDACTED}"],
        "b": [True, None, 1],
    }


def test_what_is_left_of_a_secret_where_a_text_was_cut_off_is_taken_out_too():
    kept = Secrets()
    kept.keep("correct-horse-battery")
    assert kept.redact("it says correct-horse… and so on") == f"it says {REDACTED}… and so on"
    assert kept.redact("…horse-battery was typed") == f"…{REDACTED} was typed"
    assert kept.redact("wait... cor… what…") == "wait... cor… what…"


def test_a_secret_within_a_longer_one_leaves_nothing_of_it():
    kept = Secrets()
    kept.keep("abc-def")
    kept.keep("abc-def-ghi")
    assert kept.redact("abc-def-ghi abc-def") == f"{REDACTED} {REDACTED}"


def test_what_is_too_short_to_be_told_from_words_is_left():
    kept = Secrets()
    kept.keep("a" * (SHORTEST - 1))
    assert not kept
    assert kept.redact("aa bb") == "aa bb"


def test_texts_that_belong_to_no_session_are_without_the_secrets_of_all():
    one, other = Secrets(), Secrets()
    one.keep("first-secret")
    other.keep("second-secret")
    assert redact_known("first-secret, second-secret") == f"{REDACTED}, {REDACTED}"


@pytest.mark.parametrize(
    "disguise",
    [
        lambda text: "".join(f"%{each:02X}" for each in text.encode()),
        lambda text: "".join(f"%{each:02x}" for each in text.encode()),
        lambda text: "".join(f"\\x{each:02x}" for each in text.encode()),
        lambda text: "".join(f"\\u{ord(each):04x}" for each in text),
        lambda text: "".join(f"\\u{{{ord(each):x}}}" for each in text),
        lambda text: "".join(f"&#{ord(each)};" for each in text),
        lambda text: "".join(f"&#x{ord(each):x};" for each in text),
        lambda text: text[::-1],
        lambda text: text.upper(),
        lambda text: text.lower(),
        lambda text: text.swapcase(),
        " ".join,
        "-".join,
        "\u200b".join,
        lambda text: base64.b64encode(base64.b64encode(text.encode())).decode(),
        lambda text: base64.b64encode(text.encode("utf-16-le")).decode(),
        lambda text: text.encode("utf-16-le").hex(),
        lambda text: text.encode("utf-16-be").hex(),
    ],
)
def test_a_secret_in_disguise_is_taken_out(disguise):
    secrets = Secrets()
    secrets.keep("c0rrect-Horse")
    said = disguise("c0rrect-Horse")
    left = secrets.redact(f"before {said} after")
    assert said.rstrip("=") not in left
    assert left.startswith("before ")
    assert left.endswith(" after")


def test_the_disguises_of_a_word_or_a_short_secret_are_ordinary_text():
    secrets = Secrets()
    secrets.keep("Boats")
    secrets.keep("Passwords")
    secrets.keep("a-1")
    text = "boats, staob, passwords, PASSWORDS, A-1"
    assert secrets.redact(text) == text


def test_a_short_text_that_was_clean_is_searched_again_after_a_secret_was_added():
    secrets = Secrets()
    secrets.keep("first-secret")
    for _ in range(2):
        assert secrets.redact({"name": "second-secret", "code": "Zmlyc3Qtc2VjcmV0"}) == {
            "name": "second-secret",
            "code": REDACTED,
        }
    secrets.keep("second-secret")
    assert secrets.redact("second-secret") == REDACTED


def test_remembered_short_texts_are_few():
    secrets = Secrets()
    secrets.keep("first-secret")
    for number in range(MOST_SHORT * 2 + 5):
        assert secrets.redact(f"text {number}") == f"text {number}"
    assert len(secrets._unchanged) <= MOST_SHORT
