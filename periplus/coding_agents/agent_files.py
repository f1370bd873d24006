"""The skill and the agent definitions as files, and the rule for writing them.

Each file ends with a line that holds a digest of the text above it. A file whose digest fits is as Periplus wrote
it and may be replaced by a newer one; any other file belongs to its author and is never changed.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

from periplus.coding_agents.client_layouts import ClientLayout
from periplus.coding_agents.server_entries import toml_value

TEXTS = Path(__file__).with_name("texts")
SKILL = "skill"
AGENTS = ("verify", "record", "map")

_MARK = "written by periplus init-agents; digest of the lines above: "
_MARK_LINE = re.compile(rf"^(?:<!-- |# ){re.escape(_MARK)}([0-9a-f]{{16}})(?: -->)?\n?\Z", re.MULTILINE)


class FileState(StrEnum):
    """What happened to one file."""

    WRITTEN = "written"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    KEPT = "kept"
    """It is somebody's own, or was edited."""


def list_files(layout: ClientLayout) -> Iterator[tuple[str, str]]:
    """Return the path, relative to the project, and the text of the skill and of each agent definition."""
    description, body = _read_text(SKILL)
    yield layout.skill, _as_markdown({"name": "periplus", "description": description}, body)
    for each in AGENTS:
        name = f"periplus-{each}"
        description, body = _read_text(each)
        path = layout.agents.format(name=name)
        fields = {"name": name, "description": description}
        if path.endswith(".toml"):
            yield path, _as_toml(fields, body)
        else:
            yield path, _as_markdown({**({"kind": "local"} if layout.kind_named else {}), **fields}, body)


def write_file(path: Path, text: str) -> FileState:
    """Write a file unless there is one that its author made or edited. Raises `OSError`, `UnicodeDecodeError`."""
    before = path.read_text(encoding="utf-8") if path.exists() else None
    if before == text:
        return FileState.UNCHANGED
    if before is not None and not is_as_written(before):
        return FileState.KEPT
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return FileState.WRITTEN if before is None else FileState.UPDATED


def is_as_written(text: str) -> bool:
    """Whether the text ends with the digest of what is above it."""
    mark = _MARK_LINE.search(text)
    return mark is not None and mark[1] == _digest(text[: mark.start()])


def _read_text(name: str) -> tuple[str, str]:
    """Return the description (the first line) and the body of a text."""
    description, _, body = (TEXTS / f"{name}.md").read_text(encoding="utf-8").partition("\n")
    return description, body.lstrip("\n")


def _as_markdown(fields: dict[str, str], body: str) -> str:
    front = "\n".join(
        f"{key}: {json.dumps(value, ensure_ascii=False) if ' ' in value else value}"
        for key, value in fields.items()
    )
    text = f"---\n{front}\n---\n\n{body}\n"
    return f"{text}<!-- {_MARK}{_digest(text)} -->\n"


def _as_toml(fields: dict[str, str], body: str) -> str:
    front = "\n".join(f"{key} = {toml_value(value)}" for key, value in fields.items())
    text = f"{front}\ndeveloper_instructions = '''\n{body}'''\n\n"
    return f"{text}# {_MARK}{_digest(text)}\n"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
