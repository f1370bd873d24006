"""Computes what a segment's clip depends on: if nothing of it changed, the clip is reused."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from agent.errors import AgentError
from agent.knowledge_client import KnowledgeClient
from kb_schema.base import Document
from kb_schema.presentation_flows import PresentationFlow, Segment

FORM = 1
"""Version of the clip format; clips of another version are not reused."""

_NEEDED = ("screen", "task", "action", "workflow")
"""Kinds of documents that count as dependencies. The words of a flow are part of the key; a website's data
affects all segments.
"""
_LEARNED = frozenset({"fingerprint", "meta", "confidence"})
"""Fields whose change is not visible, anywhere in a document."""
_UNSEEN = {"order", "required", "can_skip", "skip_conditions", "duration", "translations"}
"""Fields of a segment that do not affect its clip: conditions, order, and other languages."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def compute_clip_key(
    flow: PresentationFlow,
    segment: Segment,
    *,
    style: Mapping[str, Any],
    look: str,
    values: Mapping[str, Any],
) -> str:
    """Return the key of a segment's clip, for this manner (voice, speed, size) and page appearance.

    `values` are those of the presentation; only the ones that the segment refers to count.
    """
    told = _without(segment.model_dump(mode="json"), _UNSEEN)
    leading = [
        _without(each.model_dump(mode="json"), {"translations"})
        for each in flow.transitions
        if segment.segment_id == each.from_segment
    ]
    named = set(_NAME.findall(json.dumps([told, leading])))
    known = {
        "form": FORM,
        "segment": told,
        "leading": leading,
        "presenter": flow.presenter,
        "manner": dict(style),
        "look": look,
        "values": {name: values[name] for name in sorted(named & values.keys())},
    }
    return _hash(known)


def hash_document(document: Document) -> str:
    """Return a hash of a document, without learned fields."""
    return _hash(_without(document.to_json(), _LEARNED))


def hash_dependencies(documents: Iterable[Document]) -> dict[str, str]:
    """Collects `kind/id` -> hash of the documents read during a segment."""
    return {f"{each.kind}/{each.local_id}": hash_document(each) for each in documents if each.kind in _NEEDED}


async def are_dependencies_unchanged(needs: Mapping[str, str], knowledge: KnowledgeClient) -> bool:
    """Return whether the documents still have the recorded hashes."""
    for name, then in needs.items():
        kind, _, local_id = name.partition("/")
        try:
            document = await getattr(knowledge, kind)(local_id)
        except AgentError:
            return False
        if document is None or hash_document(document) != then:
            return False
    return True


def _without(data: Any, names: Collection[str]) -> Any:
    """Return JSON data without fields of these names, at any depth."""
    if isinstance(data, Mapping):
        return {name: _without(value, names) for name, value in data.items() if name not in names}
    if isinstance(data, list | tuple):
        return [_without(each, names) for each in data]
    return data


def _hash(known: object) -> str:
    text = json.dumps(known, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]
