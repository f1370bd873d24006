"""Adds MCP servers to a client's configuration and leaves the rest of the file as it is.

A server of the same name that is already there is never changed.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from periplus.coding_agents.client_layouts import ClientLayout

ServerEntries = Mapping[str, Mapping[str, Any]]
"""Name -> `command`, `args` and perhaps `env` and `type`."""


class UnknownConfig(Exception):
    """A configuration to which nothing can be added safely. `reason` says why, `entries` what to add by hand."""

    def __init__(self, reason: str, entries: str) -> None:
        self.reason, self.entries = reason, entries
        super().__init__(reason)


@dataclass(frozen=True, slots=True)
class AddedServers:
    """A configuration with the servers."""

    text: str
    added: tuple[str, ...]
    kept: tuple[str, ...]
    """Servers of these names were there already, with another entry."""


def describe_servers(
    layout: ClientLayout, command: str, options: tuple[str, ...], data_dir: str | None
) -> dict[str, dict[str, Any]]:
    """Return the entry of the server that knows and works in a browser.

    `options` are its further arguments; `data_dir` is where the knowledge is, None: its own default.
    """
    kind = {"type": "stdio"} if layout.transport_named else {}
    env = {"env": {"PERIPLUS_DATA_DIR": data_dir}} if data_dir else {}
    return {
        "periplus": {
            **kind,
            "command": command,
            "args": ["mcp", "--browser", "--all-tools", *options],
            **env,
        },
    }


def add_servers(layout: ClientLayout, before: str, entries: ServerEntries) -> AddedServers:
    """Return the configuration with the entries that it lacks. Raises `UnknownConfig`.

    `before` is its text, "" for a new file.
    """
    return _add_to_toml(layout, before, entries) if layout.is_toml else _add_to_json(layout, before, entries)


def _add_to_json(layout: ClientLayout, before: str, entries: ServerEntries) -> AddedServers:
    by_hand = json.dumps({layout.servers_key: entries}, indent=2, ensure_ascii=False)
    try:
        config = json.loads(before) if before.strip() else {}
    except ValueError as exc:
        raise UnknownConfig(f"it is no plain JSON: {exc}", by_hand) from exc
    servers = config.get(layout.servers_key, {}) if isinstance(config, dict) else None
    if not isinstance(servers, dict):
        place = f"`{layout.servers_key}`" if isinstance(config, dict) else "the whole"
        raise UnknownConfig(f"expected an object as {place}, found another value", by_hand)
    missing = {name: entry for name, entry in entries.items() if name not in servers}
    kept = tuple(name for name, entry in entries.items() if name in servers and servers[name] != entry)
    if not missing:
        return AddedServers(before, (), kept)
    indent = re.search(r'^([ \t]+)"', before, re.MULTILINE)
    text = json.dumps(
        {**config, layout.servers_key: {**servers, **missing}},
        indent=indent[1] if indent else 2,
        ensure_ascii=False,
    )
    return AddedServers(f"{text}\n", tuple(missing), kept)


def _add_to_toml(layout: ClientLayout, before: str, entries: ServerEntries) -> AddedServers:
    by_hand = "\n".join(_toml_table(layout, name, entry) for name, entry in entries.items())
    try:
        servers = tomllib.loads(before).get(layout.servers_key, {})
    except tomllib.TOMLDecodeError as exc:
        raise UnknownConfig(f"it is no TOML: {exc}", by_hand) from exc
    if not isinstance(servers, dict):
        raise UnknownConfig(f"expected a table `{layout.servers_key}`, found another value", by_hand)
    missing = {name: entry for name, entry in entries.items() if name not in servers}
    kept = tuple(name for name, entry in entries.items() if name in servers and servers[name] != entry)
    if not missing:
        return AddedServers(before, (), kept)
    parts = [before.rstrip("\n")] if before.strip() else []
    parts += [_toml_table(layout, name, entry).rstrip("\n") for name, entry in missing.items()]
    text = "\n\n".join(parts) + "\n"
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as exc:  # the servers are written inline, which cannot be extended
        raise UnknownConfig(f"a table cannot be added to it: {exc}", by_hand) from exc
    return AddedServers(text, tuple(missing), kept)


def _toml_table(layout: ClientLayout, name: str, entry: Mapping[str, Any]) -> str:
    lines = [f"[{layout.servers_key}.{name}]"]
    for key, value in entry.items():
        if isinstance(value, Mapping):
            pairs = ", ".join(f"{each} = {toml_value(text)}" for each, text in value.items())
            lines.append(f"{key} = {{ {pairs} }}")
        else:
            lines.append(f"{key} = {toml_value(value)}")
    return "\n".join(lines) + "\n"


def toml_value(value: str | list[str]) -> str:
    """Return a text or a list of texts as TOML. JSON's strings are TOML's, too, but for the sign DEL."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
