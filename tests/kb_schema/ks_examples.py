"""The 26 JSON blocks of KS, read as DESIGN 3 says: verbatim, or with comments removed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "data" / "ks_examples"

DOCUMENTS = (
    "01_screen_agent_create", "02_action_type_text", "03_action_click_submit", "04_task_create_agent",
    "05_task_delete_all_emails", "06_transition_create_to_list", "07_global_recovery_to_dashboard",
    "08_presentation_flow_spadeworks_demo", "09_screen_group_authenticated_pages", "10_group_membership",
    "11_global_recovery_edge", "12_state_signature_dashboard",
)  # fmt: skip
"""Blocks that are whole documents, verbatim."""


def names() -> list[str]:
    """Every block."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def text_of(name: str) -> str:
    """The block as it stands in KS."""
    return (FOLDER / f"{name}.json").read_text(encoding="utf-8")


def parts_of(name: str) -> list[Any]:
    """The JSON values of a block. A comment is `//` outside a string, to the end of its line."""
    text = re.sub(r'("(?:[^"\\]|\\.)*")|//[^\n]*', lambda match: match[1] or "", text_of(name))
    decoder, parts, at = json.JSONDecoder(), [], 0
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        value, at = decoder.raw_decode(text, at)
        parts.append(value)
    return parts


def document(name: str) -> dict[str, Any]:
    """The block's one value, which must be JSON as it stands."""
    value = json.loads(text_of(name))
    assert isinstance(value, dict)
    return value
