"""ArangoDB keys of records, and sort keys that every collation orders alike.

A key has 1 to 254 bytes of a few ASCII characters and no `/` (ArangoDB 3.12, "Document keys"). Ours is
`generation:website:id` if both ids are plain and it fits, else `generation:=digest`. Nothing is parsed from a
key; the document has the ids.
"""

from __future__ import annotations

import hashlib
import json
import re

from kb_store.knowledge_records import EdgeEnd

PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]*")
MOST_BYTES = 254

COLLECTION_OF_VERTEX = {"screen": "screens", "screen_group": "screen_groups", "task": "tasks"}
COLLECTION_OF_EDGE = {
    "action_trigger": "action_triggers",
    "global_recovery": "global_recovery",
    "group_membership": "group_membership",
    "task_dependency": "task_dependencies",
    "transition": "transitions",
}
COLLECTION_OF_NODE = {**COLLECTION_OF_VERTEX, "action": "actions", "transition": "transitions"}
"""Actions are ends of edges but not vertices: there is no collection of that name."""


def key_of(website_id: str, generation: int, local_id: str) -> str:
    """Return the key of a record within its collection."""
    return f"{generation}:{_name(website_id, local_id, MOST_BYTES - len(str(generation)) - 1)}"


def learned_key(website_id: str, kind: str, name: str) -> str:
    """Return the key of learned numbers, which outlive generations; `kind` as in `LearnedSubject`."""
    return _name(website_id, f"{kind}.{name}", MOST_BYTES)


def lasting_key(website_id: str, name: str = "") -> str:
    """Return the key of another document that outlives generations."""
    return "=" + hashlib.sha256(json.dumps([website_id, name]).encode()).hexdigest()


def id_of(website_id: str, generation: int, node: EdgeEnd) -> str:
    """Return the document id for `_from` and `_to`."""
    return f"{COLLECTION_OF_NODE[node.kind]}/{key_of(website_id, generation, node.local_id)}"


def sort_key(local_id: str) -> str:
    """Return the id in hexadecimal, so that the server's collation orders it as Python does."""
    return "x" + local_id.encode("utf-8", "surrogatepass").hex()


def local_id_of(sorted_by: str) -> str:
    """Return the id of a `sort_key`."""
    return bytes.fromhex(sorted_by[1:]).decode("utf-8", "surrogatepass")


def _name(website_id: str, local_id: str, room: int) -> str:
    name = f"{website_id}:{local_id}"
    if PLAIN.fullmatch(website_id) and PLAIN.fullmatch(local_id) and len(name) <= room:
        return name
    return lasting_key(website_id, local_id)
