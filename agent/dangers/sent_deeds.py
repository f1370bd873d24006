"""Judges what a page is about to send: by its method and address, what its body names, and the GraphQL mutations in it.

`named_operations` reads what objects name. Not judged: bodies that name nothing of the kind, and what web sockets carry.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from agent.dangers.danger_addresses import find_danger_of_called, find_last_words
from agent.dangers.danger_rules import SAFE_METHODS
from agent.dangers.danger_words import HARM, load_danger_words
from agent.dangers.deed_names import find_deed_of_verb_and_thing
from agent.dangers.graphql_mutations import list_mutated_fields
from agent.dangers.named_operations import (
    METHOD_FIELD,
    MOST_FIELDS,
    MOST_OBJECTS,
    STORED_OPERATIONS,
    UNSET,
    Harm,
    SentObject,
    below,
    find_harm_of_objects,
    list_methods,
    list_objects,
    list_requests,
    read_json,
)
from agent.dangers.press_surroundings import find_harm_in_request, find_harm_in_state
from kb_schema.text_similarity import words

LONGEST_BODY = 2_000_000
"""Characters of a body that are read."""
DEEPEST = 2
"""How deep states in JSON are read: frameworks send `{"boat": {"status": "deleted"}}`."""
_OVERRIDES = ("x-http-method-override", "x-http-method", "x-method-override")
_TYPE_OF_SOAP = re.compile(r';\s*action="?([^";]+)', re.IGNORECASE)
"""SOAP 1.2 names the action in the type of the body."""
_SOAP_BODY = re.compile(r"<(?:[\w.-]+:)?Body\b[^>]*>\s*<(?:[\w.-]+:)?([\w.-]+)")
_REQUEST_LINE = re.compile(r"^([A-Z]{3,20}) (\S{1,2000}) HTTP/\d", re.MULTILINE)
"""Of a request in a part of a body."""
_REQUEST_PART = "application/http"
_ROOT = re.compile(r"\A\s*(?:<[?!][^>]*>\s*)*<(?:[\w.-]+:)?([\w.-]+)")
"""The outermost element of XML."""
_XML_CALL = re.compile(r"<methodName>\s*([\w.:/-]+)\s*</methodName>")
_CUSTOM_METHOD = re.compile(r"(?<=[^:/]):([A-Za-z]\w*)(?=[?#]|$)")
"""`/accounts/7:delete`, as Google's interfaces write it."""
_PART = re.compile(r'name="([^"\r\n]*)"[^\r\n]*\r?\n(?:[^\r\n]+\r?\n)*\r?\n(.*?)(?=\r?\n--|\Z)', re.DOTALL)
"""A field of a body in parts."""
_SOUGHT = frozenset({"criteria", "filter", "filters", "query", "search", "where"})
"""Fields that say what is looked for: `{"filter": {"status": "deleted"}}`."""
_GRAPHQL = "application/graphql"


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
    last, known = find_last_words(address), load_danger_words().addresses
    sought, counted = bool(last & known.searches), bool(last & known.counters)
    methods = (sent.method, *(sent.headers.get(each, "") for each in _OVERRIDES), *body.methods)
    asked = [(each, address) for each in methods] + ([] if counted else [*body.batched])
    for method, target in asked:
        if (harm := find_harm_in_request(method, target)) is not None:
            return harm
    if (harm := _harm_of_calls(body)) is not None or not sent.changes:
        return harm
    replaces = sent.method.upper() == "PUT"
    asked_for = SentObject(
        tuple(parse_pairs(urlsplit(sent.url).query)), form=True
    )  # `/rpc?mutation=deleteUser`
    objects = (*body.objects, below(asked_for))
    return find_harm_of_objects(
        objects, replaces=replaces, tells=sought or counted, path=urlsplit(sent.url).path
    ) or (None if sought else _harm_of_states(body))


def list_sent_fields(sent: SentRequest) -> list[tuple[str, Any]]:
    """Return the names and values of the fields in the body of a request: of a form, and of all objects of JSON in it."""
    return [field for each in _Body.read(sent).objects for field in each.fields]


@dataclass(frozen=True, slots=True)
class _Body:
    """What a body says, as far as it is text, and the headers that say what it is for."""

    fields: tuple[tuple[str, str], ...] = ()
    """Names, in small letters, and values of fields that hold one value."""
    calls: tuple[str, ...] = ()
    """Names of methods of JSON-RPC, XML-RPC and SOAP, and of actions in headers."""
    documents: tuple[str, ...] = ()
    """GraphQL."""
    batched: tuple[tuple[str, str], ...] = ()
    """Methods and addresses of the requests that it carries."""
    objects: tuple[SentObject, ...] = ()

    @property
    def methods(self) -> list[str]:
        """The methods that its fields say: the application may take any of them."""
        said = (value for name, value in self.fields if name == METHOD_FIELD)
        return list(dict.fromkeys((*said, *list_methods(self.objects))))

    @classmethod
    def read(cls, sent: SentRequest) -> _Body:
        """Return what a request's body, or the query of one without a body, says."""
        if not sent.changes:
            asked = parse_pairs(urlsplit(sent.url).query) if "mutation" in sent.url else []
            return cls(documents=tuple(value for name, value in asked if name == "query"))
        text, kind = sent.body[:LONGEST_BODY], sent.headers.get("content-type", "")
        if kind.startswith(_GRAPHQL) and not kind.startswith(f"{_GRAPHQL}+"):
            return cls(documents=(text,))
        calls = tuple(re.split(r"[/#:]", each)[-1] for each in _list_called(sent.headers, text))
        known = read_json(text)
        if known is not None:
            read = cls._of_json(known)
            return replace(read, calls=(*read.calls, *calls))
        if (lines := _read_json_lines(text)) is not None:
            return cls(calls=calls, objects=tuple(map(below, list_objects(lines, but=_SOUGHT))))
        if text.lstrip()[:1] == "<":
            return cls(calls=calls)
        read = cls._of_pairs(_PART.findall(text) if text.startswith("--") else parse_pairs(text))
        requests = _REQUEST_LINE.findall(text) if _REQUEST_PART in text.casefold() else []
        return replace(read, calls=calls, batched=(*read.batched, *requests))

    @classmethod
    def _of_pairs(cls, pairs: Sequence[tuple[str, str]]) -> _Body:
        fields = tuple((name.casefold(), value) for name, value in pairs[:MOST_FIELDS])
        one = cls._of_json([read_json(value) for name, value in fields if name == "operations"])
        documents = tuple(value for name, value in fields if name == "query")
        wanted = tuple((name, value) for name, value in pairs[:MOST_FIELDS] if not _is_sought(name))
        return replace(
            one,
            fields=(*fields, *one.fields),
            documents=(*documents, *one.documents),
            objects=(SentObject(wanted, form=True), *one.objects, *islice(_list_below(wanted), MOST_OBJECTS)),
        )

    @classmethod
    def _of_json(cls, known: Any) -> _Body:
        entries = [each for each in (known if isinstance(known, list) else [known]) if isinstance(each, dict)]
        calls = (each.get("method") for each in entries if "jsonrpc" in each)
        queries = (each.get("query") for each in entries)
        objects = tuple(list_objects(known, but=_SOUGHT))
        return cls(
            tuple(pair for each in entries[:MOST_FIELDS] for pair in _list_values(each)),
            tuple(each for each in calls if isinstance(each, str)),
            tuple(each for each in queries if isinstance(each, str)),
            tuple(list_requests(objects)),
            objects,
        )


def _list_below(fields: Sequence[tuple[str, str]]) -> Iterator[SentObject]:
    """Yield the objects of JSON in fields of a form: `payload={"op": "remove", ..}`."""
    for _, value in fields:
        known = read_json(value)
        if known is not None:
            yield from map(below, list_objects(known, but=_SOUGHT))


def _list_called(headers: Mapping[str, str], text: str) -> Iterator[str]:
    """Yield what headers and XML call: `SOAPAction: urn:DeleteAccount`, `next-action: deleteUser`, the first element of SOAP's body."""
    named = load_danger_words().addresses.headers_that_say
    for name, value in headers.items():
        if name in named or name.rpartition("-")[2] in named:
            yield value.strip("\"' ")
    yield from _TYPE_OF_SOAP.findall(headers.get("content-type", ""))
    if text.lstrip()[:1] == "<":
        yield from _XML_CALL.findall(text)
        yield from _SOAP_BODY.findall(text)[:1]
        yield from (each for each in _ROOT.findall(text) if find_deed_of_verb_and_thing(each) is not None)


def _read_json_lines(text: str) -> list[Any] | None:
    """Return what lines of JSON hold; None if one is none."""
    lines = [each for each in text.splitlines() if each.strip()][:MOST_FIELDS]
    read = [read_json(each) for each in lines if len(lines) > 1]
    return read if read and all(isinstance(each, dict) for each in read) else None


def _is_sought(name: str) -> bool:
    """Whether a field stands in one that says what is looked for: `filter[status]`."""
    return not _SOUGHT.isdisjoint(re.split(r"[\[\].]+", name.casefold())[:-1])


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


def _harm_of_calls(body: _Body) -> Harm | None:
    """Return the harm of what is called: a method of JSON-RPC, the fields of GraphQL mutations, an operation stored at the server."""
    called = [(*reversed(each.rsplit(".", 1)),) for each in body.calls]
    mutated = [(each,) for text in body.documents for each in list_mutated_fields(text)]
    for name in (*called, *mutated):
        danger = find_danger_of_called(*name)
        if danger in HARM:
            return danger, name[0]
    if not any(text.strip() for text in body.documents):
        # Most are names of queries: only words count that say a deed of a link, too.
        stored = [value for name, value in body.fields if name in STORED_OPERATIONS]
        for each in stored:
            danger = find_danger_of_called(each, pressed=False)
            if danger in HARM:
                return danger, each
    return None


def _harm_of_states(body: _Body) -> Harm | None:
    """Return the harm of a state or a mark that a field gives: `status: deleted`, `user[_destroy]=1`. None within `filter[status]`."""
    known = load_danger_words().addresses
    for name, value in body.fields:
        last = name.rstrip("]").rpartition("[")[2]
        if _is_sought(name):
            continue
        said = f"{last}={value}"[:100]
        state = find_harm_in_state(value[:200]) if last in known.states else None
        if state is not None and state[0] == "deletes":
            return "deletes", said
        if "".join(words(last)) in known.marks_of_deleted and value.casefold() not in UNSET:
            return "deletes", said
    return None
