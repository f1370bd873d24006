"""Reads generated tests: which statement is which step, and which assertion is which expected outcome."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kb_schema.verification import VerificationPlan

_STEP = re.compile(r"    # (\d+)\. ")
_LAST_KIND = "no_console_errors"


@dataclass(frozen=True)
class GeneratedStatement:
    """One statement of a generated test."""

    test: str
    first: int
    """Its lines, from and to."""
    last: int
    step: int
    """Of the requirement, from 1; 0: before the first step."""
    kind: str = ""
    """The expected outcome that it asserts; empty: it asserts none."""


def read_statements(test: Path, plan: VerificationPlan) -> list[GeneratedStatement]:
    """Return the statements of the test of a plan.

    Raises `ValueError` if a step has not one assertion for each of its expected outcomes.
    """
    text = test.read_text("utf-8")
    steps = _number_lines(text)
    function = next(each for each in ast.parse(text).body if isinstance(each, ast.FunctionDef))
    found = [
        GeneratedStatement(test.name, each.lineno, each.end_lineno or each.lineno, steps[each.lineno])
        for each in function.body
    ]
    asserted = {each.first for each in found if _asserts(text.splitlines()[each.first - 1])}
    return list(_with_kinds(found, asserted, plan))


def find_end(statements: Sequence[GeneratedStatement], problem: str) -> GeneratedStatement | None:
    """Return the statement at which a test ended, as pytest's traceback has it."""
    for line in reversed(re.findall(rf"{re.escape(statements[0].test)}:(\d+)", problem)):
        for each in statements:
            if each.first <= int(line) <= each.last:
                return each
    return None


def _number_lines(text: str) -> dict[int, int]:
    numbers, step = {}, 0
    for number, line in enumerate(text.splitlines(), 1):
        found = _STEP.match(line)
        step = int(found[1]) if found else step
        numbers[number] = step
    return numbers


def _asserts(line: str) -> bool:
    return bool(re.match(r"\s*(expect\(|assert )", line))


def _with_kinds(
    statements: Sequence[GeneratedStatement], asserted: set[int], plan: VerificationPlan
) -> Iterator[GeneratedStatement]:
    for number in dict.fromkeys(each.step for each in statements):
        its = [each for each in statements if each.step == number]
        checks = plan.steps[number - 1].checks if number else ()
        kinds = sorted((each.outcome.kind for each in checks), key=lambda kind: kind == _LAST_KIND)
        if len(kinds) != sum(each.first in asserted for each in its):
            raise ValueError(
                f"step {number} of {its[0].test} expects {kinds}, and has another number of assertions"
            )
        left = iter(kinds)
        for each in its:
            kind = next(left) if each.first in asserted else ""
            yield GeneratedStatement(each.test, each.first, each.last, each.step, kind)
