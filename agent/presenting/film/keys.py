"""What a segment's clip depends on: when all of it is as it was, the clip would come out the same."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from agent.errors import AgentError
from agent.knowledge import Knowledge
from kb_schema.base import Document
from kb_schema.presentation import PresentationFlow, Segment

FORM = 1
"""Of clips; another one makes those there are useless."""

_NEEDED = ("screen", "task", "action", "workflow")
"""Kinds of documents that are told apart. A flow's words are in the key, a website's are everywhere."""
_LEARNED = frozenset({"fingerprint", "meta", "confidence"})
"""Fields that change without anybody seeing it, wherever they are in a document."""
_UNSEEN = {"order", "required", "can_skip", "skip_conditions", "duration", "translations"}
"""Of a segment: when and whether it is told, and what it says in other languages."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def key_of(
    flow: PresentationFlow,
    segment: Segment,
    *,
    manner: Mapping[str, Any],
    look: str,
    values: Mapping[str, Any],
) -> str:
    """Of a segment that is about to be told in that manner (voice, speed, size), on a page that looks so.

    `values` are the show's; those that the segment names count.
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
        "manner": dict(manner),
        "look": look,
        "values": {name: values[name] for name in sorted(named & values.keys())},
    }
    return _hash(known)


def fingerprint_of(document: Document) -> str:
    """What a document says, without what is learned of it."""
    return _hash(_without(document.to_json(), _LEARNED))


def needs_of(documents: Iterable[Document]) -> dict[str, str]:
    """`kind/id` -> hash, of documents that were read while a segment was told."""
    return {
        f"{each.kind}/{each.local_id}": fingerprint_of(each) for each in documents if each.kind in _NEEDED
    }


async def still_so(needs: Mapping[str, str], knowledge: Knowledge) -> bool:
    """Whether the knowledge says today what it said then."""
    for name, then in needs.items():
        kind, _, local_id = name.partition("/")
        try:
            document = await getattr(knowledge, kind)(local_id)
        except AgentError:
            return False
        if document is None or fingerprint_of(document) != then:
            return False
    return True


def _without(data: Any, names: Collection[str]) -> Any:
    """JSON data without fields of these names, however deep."""
    if isinstance(data, Mapping):
        return {name: _without(value, names) for name, value in data.items() if name not in names}
    if isinstance(data, list | tuple):
        return [_without(each, names) for each in data]
    return data


def _hash(known: object) -> str:
    text = json.dumps(known, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]
