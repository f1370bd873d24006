"""Groups screens: by who may see them, by what they are, and by the navigation they share."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from kb_schema.graph_documents import GroupMembership, ScreenGroup
from loaders.exploration_import.explored_screens import ExploredScreen
from loaders.exploration_import.screen_controls import MOST, ControlKey, ScreenControl
from loaders.exploration_import.shared_layouts import SharedLayout

AUTHENTICATED, PUBLIC, LISTS, FORMS, ERRORS = (
    "authenticated_pages",
    "public_pages",
    "list_pages",
    "form_pages",
    "error_pages",
)
GroupsWithMembers = dict[str, tuple[ScreenGroup, tuple[str, ...]]]
"""Each group with its screens, by id."""

_FIELDS = frozenset({"fill", "select_option", "check", "upload_file"})


def groups_of(
    screens: Sequence[ExploredScreen],
    controls: Mapping[str, Sequence[ScreenControl]],
    layouts: Sequence[SharedLayout],
) -> GroupsWithMembers:
    """Return each group with its screens; empty groups are left out."""
    failed = {each.screen_id for each in screens if each.failed}
    usual = [each for each in screens if each.screen_id not in failed]
    of_frame = {control.key for layout in layouts for control in layout.controls}
    members: list[tuple[ScreenGroup, list[str]]] = [
        (
            _group(AUTHENTICATED, "Authenticated Pages", "Pages that were seen only signed in", "high"),
            [each.screen_id for each in usual if each.signed_in],
        ),
        (
            _group(PUBLIC, "Public Pages", "Pages visible without signing in", "medium"),
            [each.screen_id for each in usual if not each.signed_in],
        ),
        (
            _group(LISTS, "List Pages", "Pages with rows; reloading is harmless", "medium"),
            [each.screen_id for each in usual if _is_list(controls[each.screen_id])],
        ),
        (
            _group(FORMS, "Form Pages", "Pages with a form; reloading loses the input", "low"),
            [each.screen_id for each in usual if _is_form(controls[each.screen_id], of_frame)],
        ),
        (
            _group(ERRORS, "Error Pages", "Error pages of the site", "high"),
            sorted(failed),
        ),
    ]
    known = {frozenset(ids) for _, ids in members}
    for layout in layouts:
        if layout.navigation and layout.screens not in known and len(layout.screens) > 1:
            known.add(layout.screens)
            name = layout.layout_id.replace("_", " ")
            group = _group(f"with_{layout.layout_id}", f"With {name}", f"Pages that share {name}", None)
            members.append((group, [e.screen_id for e in screens if e.screen_id in layout.screens]))
    return {group.group_id: (group, tuple(ids)) for group, ids in members if ids}


def memberships_of(groups: GroupsWithMembers) -> Iterator[GroupMembership]:
    """Return the membership edges."""
    for group_id, (_, ids) in groups.items():
        for screen_id in ids:
            yield GroupMembership.model_validate({"type": "belongs_to", "_from": screen_id, "_to": group_id})


def _group(group_id: str, name: str, description: str, priority: str | None) -> ScreenGroup:
    return ScreenGroup.model_validate(
        {
            "type": "screen_group",
            "group_id": group_id,
            "name": name,
            "description": description,
            "recovery_priority": priority,
        }
    )


def _is_list(controls: Sequence[ScreenControl]) -> bool:
    return any(control.in_rows and control.lasting and control.offer.href for control in controls)


def _is_form(controls: Sequence[ScreenControl], of_frame: Collection[ControlKey]) -> bool:
    """Return whether it has fields in a form that changes data; a language selector does not count."""
    fields = [
        c for c in controls if c.offer.action_type in _FIELDS and not c.in_rows and c.key not in of_frame
    ]
    sent = [c for c in fields if (c.offer.form or "").upper().startswith("POST")]
    return len(sent) > 0 and any(len(c.seen) >= MOST * sum(c.pages.values()) for c in sent)
