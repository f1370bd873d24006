"""The layout of a knowledge base as a folder: which kind is in which sub-folder."""

from __future__ import annotations

from types import MappingProxyType

FOLDERS = MappingProxyType(
    {
        "screens": "screen",
        "signatures": "state_signature",
        "actions": "action",
        "tasks": "task",
        "flows": "presentation_flow",
        "recoveries": "error_recovery",
        "workflows": "workflow",
        "groups": "screen_group",
        "transitions": "transition",
        "memberships": "group_membership",
        "global_recovery": "global_recovery",
        "dependencies": "task_dependency",
        "triggers": "action_trigger",
    }
)
"""Sub-folder -> kind of its documents. The website document is `website.yaml`."""

FOLDER_OF = MappingProxyType({kind: folder for folder, kind in FOLDERS.items()})

WEBSITE_STEM = "website"

SUFFIXES = (".yaml", ".yml", ".json")
"""The suffixes of files that are read; others (a README) are ignored."""
