"""Patches sources of pytest-playwright suites by syntax tree: locators and waits only."""

from agent.optimization.sources.patch_application import (
    AppliedPatches,
    UnappliedPatch,
    apply_patches,
)
from agent.optimization.sources.patch_guard import find_violations
from agent.optimization.sources.patch_match import is_call_on_patch
from agent.optimization.sources.patch_proposals import (
    PatchRefusal,
    fingerprint_patch,
    propose_patch,
    propose_wait_patch,
)
from agent.optimization.sources.patch_workspace import PatchWorkspace, diff_of
from agent.optimization.sources.source_files import SourceUnreadable, SourceUnwritable, SuiteSources

__all__ = [
    "AppliedPatches",
    "PatchRefusal",
    "PatchWorkspace",
    "SourceUnreadable",
    "SourceUnwritable",
    "SuiteSources",
    "UnappliedPatch",
    "apply_patches",
    "diff_of",
    "find_violations",
    "fingerprint_patch",
    "is_call_on_patch",
    "propose_patch",
    "propose_wait_patch",
]
