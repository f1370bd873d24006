"""Stored patterns against URLs, under the authored base and any other."""

from __future__ import annotations

import pytest

from kb_schema import url_patterns
from kb_schema.url_patterns import PatternError

AUTHORED = "https://app.spadeworks.co"
LOCAL = "http://127.0.0.1:8080"
BELOW = "https://host.example/app"

TABLE = [
    # pattern, URL, base in force, matches
    (r"^https://app\.spadeworks\.co/agent/create$", f"{AUTHORED}/agent/create", "", True),
    (r"^https://app\.spadeworks\.co/agent/create$", f"{LOCAL}/agent/create", LOCAL, True),
    (r"^https://app\.spadeworks\.co/agent/create$", f"{BELOW}/agent/create", BELOW, True),
    (r"^https://app\.spadeworks\.co/agent/create$", f"{LOCAL}/agent/create/x", LOCAL, False),
    (r"^https://app\.spadeworks\.co/agent/create/.*$", f"{LOCAL}/agent/create/x", LOCAL, True),
    (r"^https://app\.spadeworks\.co/agent$", f"{AUTHORED}/agent", LOCAL, False),
    (r"^https://app\.spadeworks\.co/agent$", "https://app.spadeworks.co.evil.example/agent", "", False),
    (r"^https://app\.spadeworks\.co/agent$", f"{LOCAL}9/agent", LOCAL, False),
    ("https://app.spadeworks.co/x", f"{LOCAL}/x?q=1", LOCAL, True),
    (r"https:\/\/app.spadeworks.co", f"{LOCAL}/", "", False),
    (r"^https://app\.spadeworks\.co/?$", f"{LOCAL}/", LOCAL, True),
    (r"^https://app\.spadeworks\.co$", LOCAL, LOCAL, True),
    (r"^https://app\.spadeworks\.co$", f"{LOCAL}/x", LOCAL, False),
    ("^/agent/create$", f"{LOCAL}/agent/create", LOCAL, True),
    ("^/agent/create$", f"{BELOW}/agent/create", BELOW, True),
    ("^/agent/create$", f"{LOCAL}/agent/create?x=1", LOCAL, False),
    (r"^/agent\?q=", f"{LOCAL}/agent?q=bob", LOCAL, True),
    ("^/$", LOCAL, LOCAL, True),
    ("/agent/create", f"{LOCAL}/x/agent/create/y", LOCAL, True),
    ("^/(agents|contacts)(/[0-9]+)?$", f"{LOCAL}/contacts/7", LOCAL, True),
    (r"^https://app\.spadeworks\.co/agent$", "https://app.spadeworks.co:443/agent", "", True),
    (r"^https://app\.spadeworks\.co/agent$", "HTTPS://APP.spadeworks.co/agent", AUTHORED, True),
    (r"^https://app\.spadeworks\.co/agent$", f"{LOCAL}/agent", "HTTP://127.0.0.1:8080/", True),
    (r"^https://app\.spadeworks\.co/agent$", "https://app.spadeworks.co/Agent", "", False),
    (r"^https://app\.spadeworks\.co/agent$", "https://app.spadeworks.co:80/agent", "", False),
    ("^/agent$", "HTTP://127.0.0.1:8080/agent", LOCAL, True),
    # Where somebody came from is no part of where they are; any other parameter is.
    ("^/agent$", f"{LOCAL}/agent?utm=1", LOCAL, True),
    ("^/agent$", f"{LOCAL}/agent?utm_source=letter&UTM_Medium=mail&gclid=1&fbclid", LOCAL, True),
    (r"^https://app\.spadeworks\.co/agent$", f"{LOCAL}/agent?_ga=2.1#top", LOCAL, False),
    (r"^https://app\.spadeworks\.co/agent(#.*)?$", f"{LOCAL}/agent?_ga=2.1#top", LOCAL, True),
    (r"^https://app\.spadeworks\.co/?$", f"{LOCAL}?utm_source=x", LOCAL, True),
    (r"^/agent\?q=bob&page=2$", f"{LOCAL}/agent?utm_source=x&q=bob&gclid=1&page=2", LOCAL, True),
    ("^/agent$", f"{LOCAL}/agent?q=bob&utm_source=x", LOCAL, False),
    ("^/agent$", f"{LOCAL}/agent?utmost=1", LOCAL, False),
    ("^/agent$", f"{LOCAL}/agent#?utm_source=x", LOCAL, False),
]


@pytest.mark.parametrize(("pattern", "url", "base", "expected"), TABLE)
def test_a_pattern_matches_under_the_base_in_force(pattern, url, base, expected):
    assert url_patterns.matches_pattern(pattern, url, authored_base=AUTHORED, base=base) is expected


@pytest.mark.parametrize("pattern", ["(?=x)", r"(a)\1", "(", "a{2,1}", "[z-a]"])
def test_a_pattern_re2_cannot_take_is_refused_with_its_name(pattern):
    with pytest.raises(PatternError) as caught:
        url_patterns.compile_pattern(pattern)
    assert repr(pattern) in str(caught.value)


def test_a_pattern_that_would_run_away_does_not():
    assert url_patterns.matches_pattern("^/(a+)+$", f"{LOCAL}/{'a' * 50_000}!", base=LOCAL) is False


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (f"{AUTHORED}/x?y=1", f"{LOCAL}/x?y=1"), ("/x", f"{LOCAL}/x"), ("x", f"{LOCAL}/x"),
        (AUTHORED, LOCAL), ("https://other.example/x", "https://other.example/x"),
        ("https://app.spadeworks.co.evil.example/", "https://app.spadeworks.co.evil.example/"),
    ],
)  # fmt: skip
def test_an_authored_url_is_opened_under_the_base_in_force(url, expected):
    assert url_patterns.resolve(url, authored_base=AUTHORED, base=LOCAL) == expected


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("HTTPS://Host.Example/x", "https://host.example"),
        (f"{LOCAL}/x", LOCAL),
        ("about:blank", ""),
        ("/x", ""),
        ("//*[", ""),
        ("http://[", ""),
    ],
)
def test_an_origin_is_scheme_and_host(url, origin):
    assert url_patterns.origin_of(url) == origin
