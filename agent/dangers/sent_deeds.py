"""Judges what a page is about to send: by its method and address, what its body names, and the GraphQL mutations in it.

Not judged: bodies that name nothing of the kind, and what web sockets carry.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from agent.dangers.danger_addresses import find_danger_of_called, find_deed_of_value, find_last_words
from agent.dangers.danger_rules import SAFE_METHODS
from agent.dangers.danger_words import HARM, load_danger_words
from agent.dangers.graphql_mutations import list_mutated_fields
from agent.dangers.press_surroundings import find_harm_in_request, find_harm_in_state
from kb_schema.explorations import Danger
from kb_schema.text_similarity import words

LONGEST_BODY = 2_000_000
"""Characters of a body that are read."""
MOST_FIELDS = 1_000
DEEPEST = 2
"""How deep objects of JSON are read: frameworks send `{"boat": {"status": "deleted"}}`."""
_OVERRIDES = ("x-http-method-override", "x-http-method", "x-method-override")
_METHOD_FIELD = "_method"
_SOAP = "soapaction"
_XML_CALL = re.compile(r"<methodName>\s*([\w.:/-]+)\s*</methodName>")
_ADDRESSES_IN_BATCH = ("url", "path", "relative_url")
_CUSTOM_METHOD = re.compile(r"(?<=[^:/]):([A-Za-z]\w*)(?=[?#]|$)")
"""`/accounts/7:delete`, as Google's interfaces write it."""
_PART = re.compile(r'name="([^"\r\n]*)"[^\r\n]*\r?\n(?:[^\r\n]+\r?\n)*\r?\n(.*?)(?=\r?\n--|\Z)', re.DOTALL)
"""A field of a body in parts."""
_OPERATIONS = frozenset({"operationname", "fb_api_req_friendly_name"})
"""Fields that name what is stored at the server."""
_SOUGHT = frozenset({"criteria", "filter", "filters", "query", "search", "where"})
"""Fields that say what is looked for: `{"filter": {"status": "deleted"}}`."""
_UNSET = frozenset({"", "0", "false", "off", "no", "null", "none"})
_GRAPHQL = "application/graphql"

Harm = tuple[Danger, str]
"""What it does, and what shows it."""


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A request that is about to be sent."""

    method: str
    url: str
    body: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    """By their names in small letters."""

    @property
    def changes(self) -> bool:
        """Whether it may change something by its method."""
        return self.method.upper() not in SAFE_METHODS


def find_harm_in_sent(sent: SentRequest) -> Harm | None:
    """Return the harm that a request does, and what shows it; None if nothing does."""
    body = _Body.read(sent)
    address = _CUSTOM_METHOD.sub(r"/\1", sent.url)
    for method in (sent.method, *(sent.headers.get(each, "") for each in _OVERRIDES), *body.methods):
        if (harm := find_harm_in_request(method, address)) is not None:
            return harm
    sought = find_last_words(address) & load_danger_words().addresses.searches
    told = (
        (_harm_of_operations(body), _harm_of_fields(body, states=not sought))
        if sent.changes
        else (_harm_of_operations(body),)
    )
    return next(filter(None, told), None)


@dataclass(frozen=True, slots=True)
class _Body:
    """What a body says, as far as it is text."""

    fields: tuple[tuple[str, str], ...] = ()
    """Names, in small letters, and values of fields that hold one value."""
    calls: tuple[str, ...] = ()
    """Names of methods of JSON-RPC."""
    documents: tuple[str, ...] = ()
    """GraphQL."""
    batched: tuple[str, ...] = ()
    """Methods of the requests that it carries."""

    @property
    def methods(self) -> list[str]:
        """The methods that its fields and the requests in it say: the application may take any of them."""
        return [*self.batched, *(value for name, value in self.fields if name == _METHOD_FIELD)]

    @classmethod
    def read(cls, sent: SentRequest) -> _Body:
        """Return what a request's body, or the query of one without a body, says."""
        if not sent.changes:
            asked = parse_pairs(urlsplit(sent.url).query) if "mutation" in sent.url else []
            return cls(documents=tuple(value for name, value in asked if name == "query"))
        text, kind = sent.body[:LONGEST_BODY], sent.headers.get("content-type", "")
        if kind.startswith(_GRAPHQL) and not kind.startswith(f"{_GRAPHQL}+"):
            return cls(documents=(text,))
        soap = sent.headers.get(_SOAP, "").strip("\"' ")
        calls = [re.split(r"[/#:]", each)[-1] for each in (soap, *_XML_CALL.findall(text)) if each]
        known = _read_json(text)
        if known is not None:
            return cls._of_json(known)
        if calls:
            return cls(calls=tuple(calls))
        pairs = _PART.findall(text) if text.startswith("--") else parse_pairs(text)
        fields = tuple((name.casefold(), value) for name, value in pairs[:MOST_FIELDS])
        inside = [cls._of_json(_read_json(value)) for name, value in fields if name == "operations"]
        documents = tuple(value for name, value in fields if name == "query")
        return cls(
            (*fields, *(each for one in inside for each in one.fields)),
            documents=(*documents, *(each for one in inside for each in one.documents)),
        )

    @classmethod
    def _of_json(cls, known: Any) -> _Body:
        entries = [each for each in (known if isinstance(known, list) else [known]) if isinstance(each, dict)]
        calls = (each.get("method") for each in entries if "jsonrpc" in each)
        queries = (each.get("query") for each in entries)
        return cls(
            tuple(pair for each in entries[:MOST_FIELDS] for pair in _list_values(each)),
            tuple(each for each in calls if isinstance(each, str)),
            tuple(each for each in queries if isinstance(each, str)),
            tuple(_list_batched(entries)),
        )


def _list_batched(entries: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield the methods of requests in a list of requests, or in one below a field, each with an address: `$batch`."""
    below = [value for each in entries for value in each.values() if isinstance(value, list)]
    for each in (*entries, *(one for value in below for one in value[:MOST_FIELDS])):
        if isinstance(each, dict) and any(isinstance(each.get(name), str) for name in _ADDRESSES_IN_BATCH):
            method = each.get("method")
            if isinstance(method, str):
                yield method


def _read_json(text: str) -> Any:
    with suppress(ValueError, RecursionError):  # not JSON, or nested without end
        return json.loads(text) if text.lstrip()[:1] in {"{", "["} else None
    return None


def _list_values(entry: dict[str, Any], depth: int = 1) -> Iterator[tuple[str, str]]:
    for name, value in list(entry.items())[:MOST_FIELDS]:
        if isinstance(value, dict) and depth < DEEPEST and name.casefold() not in _SOUGHT:
            yield from _list_values(value, depth + 1)
        elif isinstance(value, str | int | float):
            yield name.casefold(), str(value)


def parse_pairs(text: str) -> list[tuple[str, str]]:
    """Return the fields of a query or a form; none if it is none."""
    with suppress(ValueError):
        return parse_qsl(text, keep_blank_values=True, max_num_fields=MOST_FIELDS)
    return []


def _harm_of_operations(body: _Body) -> Harm | None:
    """Return the harm of what is called: a method of JSON-RPC, the fields of GraphQL mutations, an operation stored at the server."""
    called = [(*reversed(each.rsplit(".", 1)),) for each in body.calls]
    mutated = [(each,) for text in body.documents for each in list_mutated_fields(text)]
    for name in (*called, *mutated):
        danger = find_danger_of_called(*name)
        if danger in HARM:
            return danger, name[0]
    if not any(text.strip() for text in body.documents):
        # Most are names of queries: only words count that say a deed of a link, too.
        stored = [value for name, value in body.fields if name in _OPERATIONS]
        for each in stored:
            danger = find_danger_of_called(each, pressed=False)
            if danger in HARM:
                return danger, each
    return None


def _harm_of_fields(body: _Body, *, states: bool) -> Harm | None:
    """Return the harm that a field says: `action=delete`, `status: deleted`, `user[_destroy]=1`.

    Without `states` only what says what to do: a state is what is looked for then. So it is within fields such as `filter[status]`.
    """
    known = load_danger_words().addresses
    for name, value in body.fields:
        last = name.rstrip("]").rpartition("[")[2]
        said = f"{last}={value}"[:100]
        if last in known.fields_that_say and (deed := find_deed_of_value(value[:200])) in HARM:
            return deed, said
        if not states or not _SOUGHT.isdisjoint(re.split(r"[\[\].]+", name)[:-1]):
            continue
        state = find_harm_in_state(value[:200]) if last in known.states else None
        if state is not None and state[0] == "deletes":
            return "deletes", said
        if "".join(words(last)) in known.marks_of_deleted and value.casefold() not in _UNSET:
            return "deletes", said
    return None
