"""Values that nobody sends on purpose, and arguments made from a tool's own schema, right and wrong."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

STRINGS = (
    "", " ", "\0", "a\0b", "\ud800", "🙈" * 50, "x" * 20_000, "../../etc/passwd", "{{7*7}}", "{x}", "${jndi:x}", "%s%n",
    "' OR '1'='1", '"; DROP TABLE screens; --', "$where", "__proto__", "constructor", "<script>alert(1)</script>",
    "(a+)+$", "(" * 200, "[", "\\", "a" * 40 + "!", "//*[", "div:nth-child(", ":has(:has(:has(*)))", "null", "NaN",
    "-1", "1e999", "٣", "\u202e", "\r\n\r\nHTTP/1.1 200", "http://[", "javascript:alert(1)", "file:///etc/passwd",
    "kb://pantry/screens/../x", "W10", "[" * 3_000, "{" * 3_000, '{"a":' * 500, "latest", "current", "screen/shelf",
)  # fmt: skip
NUMBERS = (
    0,
    -1,
    1,
    2**31,
    -(2**63),
    2**64,
    10**400,
    0.5,
    -0.0,
    1e308,
    float("inf"),
    float("-inf"),
    float("nan"),
)


def nested(depth: int, leaf: Any, *, lists: bool) -> Any:
    """A value so many levels deep. The SDK's client itself sends none deeper than 255."""
    for _ in range(depth):
        leaf = [leaf] if lists else {"type": leaf}
    return leaf


texts = st.one_of(
    st.sampled_from(STRINGS),
    st.text(max_size=30),
    st.text(st.characters(codec=None), max_size=10),  # lone surrogates too
)
keys = texts.filter(lambda text: not any("\ud800" <= char <= "\udfff" for char in text))
"""Of objects: the SDK's client cannot send lone surrogates there."""
anything = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from(NUMBERS),
    texts,
    st.builds(nested, st.sampled_from((1, 5, 60, 200)), texts, lists=st.booleans()),
    st.lists(texts, max_size=4),
    st.dictionaries(keys, st.one_of(texts, st.sampled_from(NUMBERS)), max_size=4),
)


@st.composite
def mostly(draw: st.DrawFn, usual: st.SearchStrategy[Any], other: st.SearchStrategy[Any]) -> Any:
    """The usual in nine of ten cases. (`one_of` takes a strategy once, however often it is named.)"""
    return draw(other if draw(st.integers(0, 9)) == 5 else usual)


def arguments(
    schema: Mapping[str, Any], known: Mapping[str, st.SearchStrategy[Any]], *, at: str = ""
) -> st.SearchStrategy[Any]:
    """Values that fit a JSON schema as tools state them. `known`: what is worth trying for a name."""
    if at in known:
        return mostly(known[at], _of_type(schema, known))
    return _of_type(schema, known)


def _of_type(
    schema: Mapping[str, Any], known: Mapping[str, st.SearchStrategy[Any]]
) -> st.SearchStrategy[Any]:
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "anyOf" in schema:
        return st.one_of(*(_of_type(each, known) for each in schema["anyOf"]))
    kinds = schema.get("type", "any")
    if isinstance(kinds, list):
        return st.one_of(*(_of_type({**schema, "type": kind}, known) for kind in kinds))
    if kinds == "array":
        return st.lists(arguments(schema.get("items", {}), known, at="item"), max_size=4)
    if kinds == "object":
        return (
            _objects(schema, known) if "properties" in schema else st.dictionaries(keys, anything, max_size=3)
        )
    plain = {
        "string": texts,
        "boolean": st.booleans(),
        "integer": st.integers(schema.get("minimum", -5), schema.get("maximum", 10**6)),
        "number": st.one_of(st.sampled_from(NUMBERS), st.floats()),
        "null": st.none(),
    }
    return plain.get(kinds, anything)


def _objects(
    schema: Mapping[str, Any], known: Mapping[str, st.SearchStrategy[Any]]
) -> st.SearchStrategy[Any]:
    needed = set(schema.get("required", ()))
    fields = {name: arguments(part, known, at=name) for name, part in schema["properties"].items()}
    return st.fixed_dictionaries(
        {name: field for name, field in fields.items() if name in needed},
        optional={name: field for name, field in fields.items() if name not in needed},
    )


@st.composite
def mutated(draw: st.DrawFn, valid: st.SearchStrategy[dict[str, Any]]) -> dict[str, Any]:
    """Arguments that were right, after one to three slips: left out, put in, of another type, wrapped."""
    found = copy.deepcopy(draw(valid))
    for _ in range(draw(st.integers(1, 3))):
        places = _places(found, 4)
        if not places or draw(st.integers(0, 3)) == 0:
            found[draw(keys)] = draw(anything)
            continue
        inside, key = draw(st.sampled_from(places))
        match draw(st.sampled_from(("replace", "drop", "wrap", "string", "null"))):
            case "replace":
                inside[key] = draw(anything)
            case "drop":
                del inside[key]
            case "wrap":
                inside[key] = [inside[key]]
            case "string":
                inside[key] = json.dumps(inside[key])
            case "null":
                inside[key] = None
    return found


def _places(value: Any, depth: int) -> list[tuple[Any, Any]]:
    """Every place in a value that can be written to."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    found = [(value, key) for key in keys]
    return (
        found if depth == 0 else found + [place for key in keys for place in _places(value[key], depth - 1)]
    )
