from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kb_schema import url_patterns
from mcp_server.screen_index import url_index
from mcp_server.screen_index.url_index import UrlIndex, literal_prefix

AUTHORED = "https://app.example"
PATTERNS = (
    "^/a$", "^/a/b", r"^/a/\d+$", "^/a?b", "^/(a|b)$", "^/a|^/b", "^/", "a/b", "^https://app.example/a$",
    r"^https://app\.example/a/\d+", "https://app.example", "^https://app.example$", r"^/a\.b$", "^/a+$", "(?i)^/A$",
    r"^/a\?x=1", "^/ab{0,1}c", "^https://other.example/a$", r"^/a\|b",
)  # fmt: skip
URLS = st.builds(
    "{}{}".format,
    st.sampled_from([AUTHORED, "http://127.0.0.1:81", "https://other.example", "https://app.example/base"]),
    st.sampled_from(
        [
            "",
            "/",
            "/a",
            "/b",
            "/ab",
            "/a/b",
            "/a/12",
            "/a.b",
            "/aa",
            "/A",
            "/a?x=1",
            "/ac",
            "/abc",
            "/a|b",
            "/base/a",
        ]
    ),
)


@pytest.mark.parametrize(
    ("pattern", "prefix"),
    [
        ("/a/b$", "/a/b"),
        (r"/a\.b/\d+", "/a.b/"),
        ("/ab?c", "/a"),
        ("/ab+", "/ab"),
        ("/a|/b", ""),
        ("/(a|b)", "/"),
        (r"/a\|b", "/a|b"),
        ("/a[|]b", ""),
    ],
)
def test_the_text_every_match_begins_with(pattern, prefix):
    assert literal_prefix(pattern) == prefix


@settings(deadline=None)
@given(url=URLS, base=st.sampled_from(["", AUTHORED, "http://127.0.0.1:81", "https://app.example/base"]))
def test_the_index_finds_exactly_what_trying_every_pattern_finds(url, base):
    index = UrlIndex({pattern: [pattern] for pattern in PATTERNS}, AUTHORED)
    expected = {
        p for p in PATTERNS if url_patterns.matches_pattern(p, url, authored_base=AUTHORED, base=base)
    }
    assert index.candidates(url, base) == expected


@pytest.mark.parametrize("many", [0, 1, 3])
@settings(deadline=None)
@given(
    url=URLS,
    base=st.sampled_from(["", AUTHORED, "https://app.example/base"]),
    patterns=st.sets(st.sampled_from(PATTERNS)),
)
def test_asking_many_patterns_at_once_finds_the_same(many, url, base, patterns):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(url_index, "_MANY", many)
        patch.setattr(url_index, "_SET_SIZE", 4)
        index = UrlIndex({pattern: [pattern] for pattern in patterns}, AUTHORED)
    expected = {
        p for p in patterns if url_patterns.matches_pattern(p, url, authored_base=AUTHORED, base=base)
    }
    assert index.candidates(url, base) == expected


def test_thousands_of_patterns_that_begin_alike_are_told_apart():
    patterns = {f"s{n}": [rf"^/app\?view=\w+-{n}&"] for n in range(2_000)}
    index = UrlIndex(patterns, AUTHORED)
    assert index.candidates(f"{AUTHORED}/app?view=jobs-1234&page=2", AUTHORED) == {"s1234"}
    assert index.candidates(f"{AUTHORED}/app?view=jobs-12345&page=2", AUTHORED) == set()
