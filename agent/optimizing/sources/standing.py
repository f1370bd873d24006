"""Whether a failing call stands on the very expression that a patch wrote."""

from __future__ import annotations

import libcst as cst

from agent.optimizing.sources.chains import call_at, link_at
from agent.optimizing.sources.comments import one_line
from agent.optimizing.sources.files import Files, SourceFile, SourceUnreadable
from kb_schema.optimizing import FailedTest, Patch


def stands_on(failed: FailedTest, patch: Patch, files: Files) -> bool:
    """By what stands in the sources now where the locator was made and the call is."""
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
    """Whether it is what the patch wrote, or a part of it."""
    if not _same_file(file, patch):
        return False
    wanted = one_line(patch.after)
    for each in (node, *file.within(node)):
        if isinstance(each, cst.BaseExpression) and one_line(file.code(each)) == wanted:
            return True
        if isinstance(each, cst.BaseStatement | cst.BaseSmallStatement):
            return False
    return False


def _holds(file: SourceFile, call: cst.Call, patch: Patch) -> bool:
    """Whether the call is what the patch wrote, or is made on it."""
    if not _same_file(file, patch):
        return False
    wanted, node = one_line(patch.after), call
    below: cst.BaseExpression = node
    while True:
        if one_line(file.code(below)) == wanted:
            return True
        if isinstance(below, cst.Call):
            below = below.func
        elif isinstance(below, cst.Attribute):
            below = below.value
        else:
            return False


def _same_file(file: SourceFile, patch: Patch) -> bool:
    return str(file.path) == patch.file
