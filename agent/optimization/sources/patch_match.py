"""Decides whether a failing call uses the expression that a patch wrote."""

from __future__ import annotations

import libcst as cst

from agent.optimization.sources.locator_chains import call_at, link_at
from agent.optimization.sources.patch_comments import join_lines
from agent.optimization.sources.source_files import SourceFile, SourceUnreadable, SuiteSources
from kb_schema.suite_optimization import FailedTest, Patch


def is_call_on_patch(failed: FailedTest, patch: Patch, files: SuiteSources) -> bool:
    """Compare the patch with the sources where the locator was made and where it is called."""
    links = failed.locator.links if failed.locator else ()
    if patch.after.lstrip("rfbuRFBU")[:1] in ("'", '"'):
        word = cst.parse_expression(patch.after)
        value = word.evaluated_value if isinstance(word, cst.SimpleString) else None
        return any(value in each.arguments or value in each.keywords.values() for each in links)
    try:
        for each in links:
            if each.made_at is not None:
                file = files.read(each.made_at.file)
                node = link_at(file, each.made_at, each.method)
                if node is not None and _within(file, node, patch):
                    return True
        if failed.called_at is None:
            return False
        file = files.read(failed.called_at.file)
        call = call_at(file, failed.called_at)
        return call is not None and _holds(file, call, patch)
    except SourceUnreadable:
        return False


def _within(file: SourceFile, node: cst.BaseExpression, patch: Patch) -> bool:
    """Return whether it is what the patch wrote, or a part of it."""
    if not _same_file(file, patch):
        return False
    wanted = join_lines(patch.after)
    for each in (node, *file.within(node)):
        if isinstance(each, cst.BaseExpression) and join_lines(file.code(each)) == wanted:
            return True
        if isinstance(each, cst.BaseStatement | cst.BaseSmallStatement):
            return False
    return False


def _holds(file: SourceFile, call: cst.Call, patch: Patch) -> bool:
    """Return whether the call is what the patch wrote, or is made on it."""
    if not _same_file(file, patch):
        return False
    wanted, node = join_lines(patch.after), call
    below: cst.BaseExpression = node
    while True:
        if join_lines(file.code(below)) == wanted:
            return True
        if isinstance(below, cst.Call):
            below = below.func
        elif isinstance(below, cst.Attribute):
            below = below.value
        else:
            return False


def _same_file(file: SourceFile, patch: Patch) -> bool:
    return str(file.path) == patch.file
