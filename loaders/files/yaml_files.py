"""Reads YAML or JSON files as plain data, and writes data as canonical YAML.

A file may contain only what JSON can express: dates stay strings, `no` and `on` are strings, `12:30` is not a
number, keys are unique strings. The size, the depth and the expansion of aliases are limited, and a file
cannot name Python types.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from kb_schema import KnowledgeError, Problem

MAX_BYTES = 64 * 1024 * 1024
MAX_DEPTH = 100
MAX_NODES = 5_000_000
"""The most values in one file, with every alias expanded."""

LARGEST_INTEGER = 2**63 - 1
"""Stores keep integers in 64 bits."""

_NUMBER = "-?(?:0|[1-9][0-9]*)"
_RESOLVERS = (
    ("tag:yaml.org,2002:bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("tag:yaml.org,2002:null", r"^(?:null|Null|NULL|~|)$", ["n", "N", "~", ""]),
    ("tag:yaml.org,2002:int", rf"^{_NUMBER}$", "-0123456789"),
    (
        "tag:yaml.org,2002:float",
        rf"^{_NUMBER}(?:\.[0-9]+(?:[eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)$",
        "-0123456789",
    ),
)
"""Plain scalars that are not strings: those of JSON (in YAML 1.2's spelling), and no others."""


class _JsonYamlLoader(yaml.CSafeLoader):
    """A safe YAML loader with JSON's scalars and unique string keys."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        mapping: dict[Hashable, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(
                    None, None, "a key must be a word", key_node.start_mark
                )
            key = str(key_node.value)
            if key in mapping:
                message = f"the key {key!r} occurs twice"
                raise yaml.constructor.ConstructorError(None, None, message, key_node.start_mark)
            mapping[key] = self.construct_object(value_node, deep=deep)
        return mapping


class _JsonYamlDumper(yaml.CSafeDumper):
    """A dumper with block style, no aliases, and readable long texts."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML's hook
        return True


_JsonYamlLoader.yaml_implicit_resolvers = {}
_JsonYamlLoader.yaml_constructors = {
    tag: constructor
    for tag, constructor in yaml.CSafeLoader.yaml_constructors.items()
    if tag is None or tag.rpartition(":")[2] in {"null", "bool", "int", "float", "str", "seq", "map"}
}
for _tag, _pattern, _first in _RESOLVERS:
    _JsonYamlLoader.add_implicit_resolver(_tag, re.compile(_pattern), list(_first))
    # Besides YAML 1.1's own, so that other readers of the files get the same strings.
    _JsonYamlDumper.add_implicit_resolver(_tag, re.compile(_pattern), list(_first))


def _represent_text(dumper: _JsonYamlDumper, text: str) -> yaml.Node:
    style = "|" if "\n" in text.strip("\n") else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_JsonYamlDumper.add_representer(str, _represent_text)


def digest_of(content: bytes) -> str:
    """Return a text that differs for other content."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def read_file(path: Path, source: str, digests: dict[str, str] | None = None) -> Any:
    """Return the data of one file; its digest is added to `digests`. Raises `KnowledgeError` with the position of the first mistake."""
    try:
        size = path.stat().st_size
        raw = path.read_bytes() if size <= MAX_BYTES else b""
    except OSError as exc:
        raise _problem(f"cannot be read: {exc.strerror or exc}", source) from exc
    if size > MAX_BYTES:
        raise _problem(f"is larger than {MAX_BYTES // 2**20} MB", source, fix="split it into several files")
    if digests is not None:
        digests[source] = digest_of(raw)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        raise _problem(f"is not UTF-8 text (byte {exc.start})", source, fix="save it as UTF-8") from exc
    data = _from_json(text, source) if path.suffix == ".json" else from_yaml(text, source)
    _check_size(data, source)
    return data


def to_yaml(data: Any, *, compact: bool = False, flow: bool = False) -> str:
    """Return canonical YAML: keys in the given order, block style; it parses to the same data.

    `compact`: values without nested ones are on one line; `flow`: everything is on one line.
    """
    if compact and isinstance(data, dict) and data:  # its own keys still get lines
        parts = ({key: value} for key, value in data.items())
        return "".join(_dumped(each, None if _is_nested(each) else False, 100) for each in parts)
    return _dumped(data, None if compact else flow, 1_000_000 if flow else 100)


def _is_nested(data: dict[str, Any]) -> bool:
    return any(isinstance(value, dict | list) for value in data.values())


def _dumped(data: Any, flow: bool | None, width: int) -> str:
    return str(
        yaml.dump(
            data,
            Dumper=_JsonYamlDumper,
            sort_keys=False,
            allow_unicode=True,
            default_flow_style=flow,
            width=width,
        )
    )


def write_whole(path: Path, text: str) -> None:
    """Write a file completely or not at all; the old one stays until then."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.new")
    fresh.write_text(text, encoding="utf-8", newline="\n")
    if path.exists():
        fresh.chmod(path.stat().st_mode)
    os.replace(fresh, path)  # noqa: PTH105 - atomic, also over a file that is there


def from_yaml(text: str, source: str) -> Any:
    """Return the data of YAML text. Raises `KnowledgeError` with the position of the first mistake."""
    try:
        _check_depth(text, source)
        return yaml.load(text, Loader=_JsonYamlLoader)  # noqa: S506 - _Loader is a safe loader with less
    except KnowledgeError:
        raise
    except yaml.MarkedYAMLError as exc:
        mark = exc.problem_mark or exc.context_mark
        where = "" if mark is None else f" (line {mark.line + 1}, column {mark.column + 1})"
        context = f" {exc.context}" if exc.context else ""
        raise _problem(f"is not YAML: {exc.problem}{context}{where}", source, fix=_yaml_fix(exc)) from exc
    except yaml.reader.ReaderError as exc:
        line = text.count("\n", 0, exc.position) + 1
        raise _problem(
            f"is not YAML: {exc.reason} (line {line})", source, fix="remove the character"
        ) from exc
    except ValueError as exc:
        raise _problem(f"is not YAML: {exc}", source) from exc


def _yaml_fix(error: yaml.MarkedYAMLError) -> str | None:
    problem = error.problem or ""
    if "occurs twice" in problem:
        return "keep one of the two"
    if "mapping values are not allowed" in problem or "while scanning a simple key" in (error.context or ""):
        return 'put a text that contains ": " or begins with a special character in quotes'
    if "\\t" in problem:
        return "indent with spaces"
    if "expected a single document" in (error.context or ""):
        return "one file is one document, or a list of documents"
    if "could not determine a constructor" in problem:
        return "remove the tag: plain values only"
    return None


def _check_depth(text: str, source: str) -> None:
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise _problem(f"is nested more than {MAX_DEPTH} deep", source)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _from_json(text: str, source: str) -> Any:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise _problem(f"the key {twice!r} occurs twice in one object", source, fix="keep one of the two")
        return found

    def refused(name: str) -> Any:
        raise _problem(f"{name} is no JSON number", source, fix="write a finite number")

    try:
        return json.loads(text, object_pairs_hook=once, parse_constant=refused)
    except json.JSONDecodeError as exc:
        where = f"line {exc.lineno}, column {exc.colno}"
        raise _problem(f"is not JSON: {exc.msg} ({where})", source) from exc
    except RecursionError as exc:
        raise _problem(f"is nested more than {MAX_DEPTH} deep", source) from exc


def _check_size(data: Any, source: str) -> None:
    """Limit the expanded size of the data; shared parts are visited once."""
    sizes: dict[int, int] = {}
    open_: set[int] = set()

    def size(node: Any, depth: int) -> int:
        if isinstance(node, int | float) and not isinstance(node, bool):
            _check_number(node, source)
        if isinstance(node, str) and not node.isascii():
            _check_text(node, source)
        if not isinstance(node, dict | list):
            return 1
        key = id(node)
        if key in open_:
            raise _problem("an alias is inside its own anchor", source, fix="write it out")
        if key not in sizes:
            if depth > MAX_DEPTH:
                raise _problem(f"is nested more than {MAX_DEPTH} deep", source)
            open_.add(key)
            items = node.values() if isinstance(node, dict) else node
            sizes[key] = 1 + sum(size(item, depth + 1) for item in items)
            open_.discard(key)
            if sizes[key] > MAX_NODES:
                raise _problem(f"holds more than {MAX_NODES:,} values", source, fix="use fewer aliases")
        return sizes[key]

    size(data, 0)


def _check_number(number: float, source: str) -> None:
    if isinstance(number, int):
        if abs(number) > LARGEST_INTEGER:
            raise _problem("a number is too large for 64 bits", source, fix="write it as text, in quotes")
    elif not math.isfinite(number):
        raise _problem("a number is too large", source, fix="write it as text, in quotes")


def _check_text(text: str, source: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as exc:
        raise _problem(
            "a text contains a lone surrogate (half a character)", source, fix="remove it"
        ) from exc


def _problem(message: str, source: str, *, fix: str | None = None) -> KnowledgeError:
    return KnowledgeError([Problem(message, source=source, fix=fix, rule="syntax")])
