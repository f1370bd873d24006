"""robots.txt as RFC 9309 says: groups, longest match, what stands in for a missing or failing file, bounds."""

from __future__ import annotations

import pytest

from agent.exploration.requests.robots_rules import LONGEST_DELAY_S, MOST_BYTES, RobotsRules

HOST = "http://site.example"


def test_the_group_of_our_name_counts_and_not_that_of_all():
    robots = RobotsRules.of(200, "User-agent: *\nDisallow: /\n\nUser-agent: Periplus\nDisallow: /private/\n")
    assert robots.allowed(f"{HOST}/open")
    assert not robots.allowed(f"{HOST}/private/x")


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/a", False),
        ("/a/b", True),
        ("/a/b?x=1", True),
        ("/c.pdf", False),
        ("/c.pdf?x", True),
        ("/%61", False),
        ("/", True),
    ],
)
def test_the_longest_rule_wins_and_wildcards_and_ends_are_known(path: str, allowed: bool):
    robots = RobotsRules.of(200, "User-agent: *\nDisallow: /a\nAllow: /a/b\nDisallow: /*.pdf$\n")
    assert robots.allowed(HOST + path) is allowed


@pytest.mark.parametrize("status", [404, 403, 401, 410])
def test_where_there_is_no_file_everything_is_open(status: int):
    assert RobotsRules.of(status, "User-agent: *\nDisallow: /").allowed(f"{HOST}/x")


@pytest.mark.parametrize("status", [500, 503, 429, None])
def test_where_the_server_fails_everything_is_closed(status: int | None):
    robots = RobotsRules.of(status)
    assert not robots.allowed(f"{HOST}/x")
    assert robots.allowed(f"{HOST}/robots.txt")
    assert ("nothing is allowed" if status else "no response from the server") in robots.why


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ("<!doctype html><p>User-agent: *\nDisallow: /", ""),
        ("User-agent: *\nDisallow: /", "text/html; charset=utf-8"),
    ],
)
def test_a_page_in_place_of_the_file_is_no_file(body: str, content_type: str):
    assert RobotsRules.of(200, body, content_type).allowed(f"{HOST}/x")


def test_of_a_huge_file_only_whole_lines_of_its_beginning_count():
    filler = b"# filler\n" * (MOST_BYTES // 9)
    head = b"User-agent: *\nDisallow: /first\n"
    tail = b"Disallow: /later\n"
    robots = RobotsRules.of(
        200, head + filler[: MOST_BYTES - len(head) - 12] + b"\nDisallow: /" + b"x" * 100 + b"\n" + tail
    )
    assert not robots.allowed(f"{HOST}/first")
    assert robots.allowed(f"{HOST}/later")
    assert robots.allowed(f"{HOST}/anything"), "half a rule was read as a whole one"


@pytest.mark.parametrize(
    ("written", "delay"),
    [
        ("2.5", 2.5),
        ("0", 0),
        ("-3", 0),
        ("nan", 0),
        ("inf", 0),
        ("1e9", LONGEST_DELAY_S),
        ("soon", 0),
    ],
)
def test_a_delay_is_taken_within_bounds(written: str, delay: float):
    assert RobotsRules.of(200, f"User-agent: *\nCrawl-delay: {written}\n").delay == delay


@pytest.mark.parametrize(
    "body",
    [b"", b"\xff\xfe\x00", b"\xef\xbb\xbfUser-agent: *\nDisallow: /x", "User-agent: *\nDisallow: /x\r\n" * 3],
)
def test_any_bytes_can_be_read(body: bytes | str):
    robots = RobotsRules.of(200, body)
    assert robots.allowed(f"{HOST}/open")
    assert robots.allowed(f"{HOST}/x") is (len(body) < 20)


def test_a_rule_with_many_wildcards_is_matched_at_once():
    robots = RobotsRules.of(200, "User-agent: *\nDisallow: /" + "*a" * 900 + "b\n")
    assert robots.allowed(f"{HOST}/" + "a" * 7_000)


def test_an_address_that_cannot_be_read_is_not_allowed():
    assert not RobotsRules.everything().allowed("http://[")
    assert RobotsRules.everything().allowed(f"{HOST}/x")
