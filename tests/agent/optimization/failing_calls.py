"""Failing calls as the probe would tell of them, made from a source: for tests of patching without a browser."""

from __future__ import annotations

import ast
from datetime import date
from pathlib import Path

from agent.optimization.sources import PatchRefusal, SuiteSources, apply_patches, propose_patch
from agent.optimization.sources.locator_chains import link_data, parse_links
from kb_schema.locator_expressions import LocatorLink, Span
from kb_schema.selectors import Selector
from kb_schema.suite_optimization import FailedTest, LocatorCandidate, Patch, UsedLocator

TODAY = date(2026, 3, 1)
LINKS = {"locator", "frame_locator", "filter", "nth", "or_", "and_", "first", "last"}


def suite(folder: Path, **files: str) -> SuiteSources:
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
    return SuiteSources(folder)


def span(path: Path, node: ast.expr, function: str = "") -> Span:
    lines = path.read_text(encoding="utf-8-sig").replace("\r\n", "\n").split("\n")

    def characters(line: int, column: int) -> int:
        return len(lines[line - 1].encode()[:column].decode())

    return Span(
        file=str(path), line=node.lineno, column=characters(node.lineno, node.col_offset),
        end_line=node.end_lineno, end_column=characters(node.end_lineno, node.end_col_offset),
        function=function,
    )  # fmt: skip


def evaluated(node: ast.expr, values: dict[str, object]):
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "re.compile":
        return {"regex": eval(ast.unparse(node.args[0]), {}, values), "flags": ""}
    return eval(ast.unparse(node), {}, dict(values))


def find(path: Path, code: str, nth: int = 0) -> ast.expr:
    tree = ast.parse(path.read_bytes())
    wanted = ast.unparse(ast.parse(code, mode="eval").body)
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call | ast.Attribute) and ast.unparse(node) == wanted
    ]
    found.sort(key=lambda node: (node.lineno, node.col_offset))
    return found[nth]


def links(path: Path, node: ast.expr, values: dict[str, object]) -> tuple[LocatorLink, ...]:
    made: list[LocatorLink] = []
    while True:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name = node.func.attr
            if not (name in LINKS or name.startswith("get_by_")):
                break
            made.append(
                LocatorLink(
                    method=name,
                    arguments=tuple(evaluated(each, values) for each in node.args),
                    keywords={each.arg: evaluated(each.value, values) for each in node.keywords},
                    made_at=span(path, node),
                )
            )
            node = node.func.value
        elif isinstance(node, ast.Attribute) and node.attr in LINKS:
            made.append(LocatorLink(method=node.attr, made_at=span(path, node)))
            node = node.value
        else:
            break
    return tuple(reversed(made))


def failing(
    files: SuiteSources,
    name: str,
    *chains: str,
    values: dict[str, object] | None = None,
    action: str = "click",
    kind: str = "action",
    stack: tuple[Span, ...] = (),
    call: str | None = None,
    nth: int = 0,
    test_id: str = "test_it.py::test_it",
) -> FailedTest:
    """`chains`: the code of each expression that made the locator, outermost container first."""
    path = files.root / f"{name.replace('__', '/')}.py"
    made: list[LocatorLink] = []
    for each in chains:
        where, _, code = each.rpartition("|")
        there = files.root / f"{where.replace('__', '/')}.py" if where else path
        made += links(there, find(there, code, nth), values or {})
    called = span(path, find(path, call, nth)) if call else None
    if call and not chains:
        node = find(path, call, nth)
        made = [LocatorLink(method="locator", arguments=(evaluated(node.args[0], values or {}),))]
    return FailedTest(
        test_id=test_id, file=str(path), action=action, kind=kind, stack=stack, called_at=called,
        locator=UsedLocator(links=tuple(made), selector="..."),
    )  # fmt: skip


def candidate(expression: str, why: str = "named Save agent now") -> LocatorCandidate:
    return LocatorCandidate(
        selector=Selector.model_validate({"strategies": [{"type": "css", "value": "#x"}]}),
        expression=expression, links=tuple(link_data(each) for each in parse_links(expression)), confidence=0.9, witnesses=(why,),
    )  # fmt: skip


def patched(files: SuiteSources, failed: FailedTest, expression: str, **options) -> dict[str, str] | str:
    """The files as they are afterwards by name, or why not."""
    patch = propose_patch(failed, candidate(expression), files, **options)
    if isinstance(patch, PatchRefusal):
        return patch.reason
    return put(files, patch)


def put(files: SuiteSources, *patches: Patch) -> dict[str, str] | str:
    applied = apply_patches(patches, files, today=TODAY)
    if applied.refused:
        return applied.refused[0].reason
    return {path.stem: data.decode() for path, data in applied.after.items()}
