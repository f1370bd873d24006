"""Changes the indicators of a screen's signature: by hand, one row for each indicator.

A row is written in a short form (`text: Your jars`, `element: save`, `css: #save`, `title: Jars`, `url: ^/jars$`) or as the JSON of any
condition. Address patterns of the screen are rows like the others. Not here: trying a signature on stored pages
(`mcp_server.signature_checks.signature_trial`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from kb_schema import KnowledgeBase
from kb_schema.base import Document
from kb_schema.conditions import BaseCondition, Condition, UrlMatches
from kb_schema.documents import did_you_mean, problems_of
from kb_schema.screens import DEFAULT_THRESHOLD, Screen, Signature, StateSignature
from loaders.edits.knowledge_edit import EditRefused, KnowledgeEdit, check_edit

RowKind = Literal["url_patterns", "required", "primary", "optional", "exclusion", "negative"]
KINDS: tuple[RowKind, ...] = RowKind.__args__  # type: ignore[attr-defined]
ADDRESS: RowKind = "url_patterns"

SHORT_FORMS: dict[str, tuple[str, str]] = {
    "text": ("dom_contains", "value"),
    "element": ("element_visible", "element"),
    "css": ("dom_element", "selector"),
    "title": ("title_contains", "value"),
    "url": ("url_matches", "pattern"),
}
"""The word of a short form -> the type of condition, and the field that has the rest."""
_CONDITION: TypeAdapter[BaseCondition] = TypeAdapter(Condition)
_NOT_IN_SHORT = {"type", "weight", "reason"}


@dataclass(frozen=True, slots=True)
class SignatureRow:
    """One indicator: its list, and its condition."""

    kind: RowKind
    condition: BaseCondition


@dataclass(frozen=True, slots=True)
class SignatureRows:
    """The signature of a screen, as rows."""

    rows: tuple[SignatureRow, ...]
    threshold: float = DEFAULT_THRESHOLD


def list_rows(knowledge: KnowledgeBase, screen_id: str) -> SignatureRows:
    """Return the rows of a screen: address patterns first. Raises `EditRefused` for an unknown screen."""
    screen = _require_screen(knowledge, screen_id)
    signature = _signature(knowledge, screen)
    rows = [
        SignatureRow(ADDRESS, UrlMatches(type="url_matches", pattern=each)) for each in screen.url_patterns
    ]
    for kind in KINDS[1:]:
        rows += [SignatureRow(kind, each) for each in getattr(signature, f"{kind}_indicators")]
    return SignatureRows(tuple(rows), signature.confidence_threshold)


def write_indicator(condition: BaseCondition) -> str:
    """Return the short form of a condition, else its JSON; without its weight and its reason."""
    said = condition.model_dump(mode="json", exclude_defaults=True, by_alias=False, exclude=_NOT_IN_SHORT)
    for word, (kind, field) in SHORT_FORMS.items():
        if condition.type == kind and said.keys() == {field} and isinstance(said[field], str):
            return f"{word}: {said[field]}"
    whole = condition.model_dump(mode="json", exclude_unset=True, exclude={"weight", "reason"})
    return json.dumps(whole, ensure_ascii=False)


def read_indicator(text: str, place: str, known: Iterable[SignatureRow] = ()) -> BaseCondition:
    """Return the condition that a text stands for. `known`: rows whose reasons and weights stay, where the text is theirs.

    Raises `EditRefused`, which names the `place`.
    """
    text = text.strip()
    for row in known:
        if write_indicator(row.condition) == text:
            return row.condition
    word, colon, rest = text.partition(":")
    if text.startswith("{"):
        try:
            data: Any = json.loads(text)
        except json.JSONDecodeError as exc:
            raise EditRefused(
                f"{place}: {text[:80]!r} is no JSON: {exc.msg}", "correct it, or write text: WORDS"
            ) from exc
    elif colon and word in SHORT_FORMS:
        kind, field = SHORT_FORMS[word]
        data = {"type": kind, field: rest.strip()}
    else:
        meant = did_you_mean(word, SHORT_FORMS) if colon else None
        forms = ", ".join(f"{each}: ..." for each in SHORT_FORMS)
        raise EditRefused(
            f"{place}: {text[:80]!r} is no indicator",
            meant or f"write one of {forms}, or the JSON of a condition",
        )
    try:
        return _CONDITION.validate_python(data)
    except ValidationError as exc:
        problem = problems_of(exc, data)[0]
        raise EditRefused(f"{place}: {problem.message}", problem.fix or "correct the condition") from exc


def with_weight(condition: BaseCondition, weight: float | None) -> BaseCondition:
    """Return the condition with another weight; None: the one of its list."""
    return condition if condition.weight == weight else condition.model_copy(update={"weight": weight})


def edit_signature(knowledge: KnowledgeBase, screen_id: str, wanted: SignatureRows) -> KnowledgeEdit:
    """Return the knowledge in which a screen is recognised by these rows.

    A signature that is a document of its own stays one. Raises `EditRefused`, and `KnowledgeError` if a rule of the
    knowledge base would be broken (no positive indicator, one that contradicts another screen).
    """
    screen = _require_screen(knowledge, screen_id)
    patterns = []
    for row in wanted.rows:
        if row.kind == ADDRESS:
            if not isinstance(row.condition, UrlMatches):
                raise EditRefused(
                    f"address pattern {write_indicator(row.condition)!r} is no address", "write url: PATTERN"
                )
            patterns.append(row.condition.pattern)
    if all(row.kind in ("exclusion", "negative") for row in wanted.rows):
        raise EditRefused(
            f"screen {screen_id!r} would never be identified: nothing speaks for it",
            "keep an address pattern, or a required, primary or optional indicator",
        )
    lists = {
        f"{kind}_indicators": tuple(row.condition for row in wanted.rows if row.kind == kind)
        for kind in KINDS[1:]
    }
    signature = _signature(knowledge, screen).model_copy(
        update={**lists, "confidence_threshold": wanted.threshold}
    )
    changed: dict[int, Document] = {}
    if isinstance(signature, StateSignature):
        changed[id(knowledge.signatures[screen_id])] = signature
        changed[id(screen)] = screen.model_copy(update={"url_patterns": tuple(patterns)})
    else:
        own = signature if any(lists.values()) or screen.state_signature is not None else None
        changed[id(screen)] = screen.model_copy(
            update={"url_patterns": tuple(patterns), "state_signature": own}
        )
    return check_edit(knowledge, [changed.get(id(each), each) for each in knowledge.documents()])


def change_rows(
    before: SignatureRows,
    *,
    removed: Sequence[int] = (),
    kinds: dict[int, RowKind] | None = None,
    added: Sequence[SignatureRow] = (),
    threshold: float | None = None,
) -> SignatureRows:
    """Return other rows. Rows are numbered from 1. Raises `EditRefused` for a number that there is not."""
    kinds = kinds or {}
    for number in (*removed, *kinds):
        if not 1 <= number <= len(before.rows):
            raise EditRefused(
                f"there is no indicator {number}",
                f"the signature has {len(before.rows)}: run without options to list them",
            )
    rows = [
        replace(row, kind=kinds.get(number, row.kind))
        for number, row in enumerate(before.rows, start=1)
        if number not in removed
    ]
    return SignatureRows((*rows, *added), before.threshold if threshold is None else threshold)


def _signature(knowledge: KnowledgeBase, screen: Screen) -> Signature:
    return knowledge.signatures.get(screen.screen_id) or screen.state_signature or Signature()


def _require_screen(knowledge: KnowledgeBase, screen_id: str) -> Screen:
    screen = knowledge.screens.get(knowledge.current_id("screen", screen_id))
    if screen is None:
        fix = did_you_mean(screen_id, knowledge.screens) or "list them with `periplus screens`"
        raise EditRefused(f"there is no screen {screen_id!r}", fix)
    return screen
