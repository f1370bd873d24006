"""Tells requests that read by POST: GraphQL queries, and `.../filter` as many applications send it when a page opens.

What a request does is not known before it is sent. So one is taken for reading only if opening an address or following a link
sends it, its path ends with a word for reading or begins its last part with a verb for it, and it carries data of JSON. A path that was seen so may then be sent when a
control is used, too. For all others there is `--reads`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from agent.dangers.danger_addresses import find_danger_in_address
from agent.dangers.sent_deeds import SentRequest, find_harm_in_sent
from agent.exploration.pages.page_addresses import build_place_path
from agent.page.same_site import is_same_site
from kb_schema.text_similarity import words
from kb_schema.url_patterns import path_of

READING_WORDS = frozenset(
    {
        "aggregate",
        "autocomplete",
        "count",
        "filter",
        "find",
        "lookup",
        "paginate",
        "query",
        "search",
        "suggest",
    }
)
"""Last words of paths that read: of Prefect (`filter`, `count`, `paginate`), Elasticsearch (`_search`, `_count`), MLflow (`search`)."""
READING_VERBS = frozenset({"count", "fetch", "find", "get", "list", "paginate", "query", "search"})
"""First words of names of several words: `/count-task-runs`, `/getUsers`, `/list_orders`. `read` and `load` are none: mail is marked as
read, a cart is loaded.
"""
_CHANGES = re.compile(r"\b(?:mutation|subscription)\b")
_LONGEST_QUERY = 200_000
_MOST_TOLD = 20


@dataclass
class ReadRequests:
    """The requests that may be sent although they are not GET, as they read, of one browser context."""

    patterns: Collection[str] = ()
    """Paths of requests that read, as the user named them: `/api/*/filter`. `*` stands for any text, also of several parts."""
    origins: Collection[str] = ()
    """Those of the website; none: all. Another host of the same site is one of it: many applications answer there."""
    sent: list[str] = field(default_factory=list)
    """Requests of this step that were let through: `POST /api/flows/filter`."""
    _known: set[str] = field(default_factory=set)
    """Paths that opening an address has sent."""

    def are_read(
        self, method: str, url: str, body: str, *, on_load: bool, headers: Mapping[str, str] | None = None
    ) -> bool:
        """Return whether a request only reads. `on_load`: opening an address sends it, or a link to another, not the use of a control."""
        folded = {name.casefold(): value for name, value in (headers or {}).items()}
        reads = self._is_named(SentRequest(method, url, body, folded)) or (
            method == "POST"
            and find_danger_in_address(url) is None
            and (is_graphql_query(body) or self._is_recognised(url, body, on_load=on_load))
        )
        if reads and len(self.sent) < _MOST_TOLD:
            self.sent.append(f"{method} {path_of(url)}"[:500])
        return reads

    def _is_named(self, sent: SentRequest) -> bool:
        """Whether the user named the path of a request of the website, and nothing in it names a deed."""
        path = path_of(sent.url).partition("?")[0]
        named = sent.method != "DELETE" and any(fnmatchcase(path, each) for each in self.patterns)
        ours = not self.origins or any(is_same_site(sent.url, each) for each in self.origins)
        return named and ours and not _is_mutation(sent.body) and find_harm_in_sent(sent) is None

    def _is_recognised(self, url: str, body: str, *, on_load: bool) -> bool:
        last = path_of(url).partition("?")[0].rstrip("/").rpartition("/")[2].rpartition(":")[2].lstrip("_")
        if not _says_that_it_reads(last) or not _is_json(body):
            return False
        place = build_place_path(url)
        if on_load:
            self._known.add(place)
        return place in self._known


def _says_that_it_reads(name: str) -> bool:
    said = words(name)
    return name.casefold() in READING_WORDS or (len(said) > 1 and said[0] in READING_VERBS)


def _is_json(body: str) -> bool:
    try:
        return isinstance(json.loads(body), dict | list)
    except (ValueError, RecursionError):
        return False


def _is_mutation(body: str) -> bool:
    return _CHANGES.search(body[:_LONGEST_QUERY]) is not None and '"query"' in body


def is_graphql_query(body: str) -> bool:
    """Whether a body is a GraphQL query, which is sent by POST but is read-only by definition."""
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        return False
    asked = said if isinstance(said, list) else [said]
    return bool(asked) and all(isinstance(each, dict) and _is_query(each.get("query")) for each in asked)


def _is_query(text: object) -> bool:
    if not isinstance(text, str) or len(text) > _LONGEST_QUERY:
        return False
    return text.lstrip().startswith(("query", "{", "fragment", "#")) and _CHANGES.search(text) is None
