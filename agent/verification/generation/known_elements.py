"""Writes and reads the fingerprints of the elements a suite's locators lead to, in a file beside the tests.

`periplus optimize` uses it after a redesign to decide which element was meant; the tests do not read it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import ValidationError

from kb_schema.fingerprints import Fingerprint
from kb_schema.locator_expressions import Expression, to_source
from kb_schema.verification import VerificationPlan

FILE = ".elements.json"


def elements_file(plans: Sequence[VerificationPlan]) -> bytes:
    """Return the file: locator as source -> fingerprint. It has no secrets, since plans have none."""
    found = {source: known for plan in plans for source, known in _elements(plan)}
    return (json.dumps(dict(sorted(found.items())), indent=1, ensure_ascii=False) + "\n").encode()


def known_element(folder: Path, expression: Expression) -> Fingerprint | None:
    """Return what a locator of the suite led to when it was generated; None if that is not known."""
    try:
        said = json.loads((folder / FILE).read_bytes())
        held = said.get(to_source(expression)) if isinstance(said, dict) else None
        return None if held is None else Fingerprint.model_validate(held)
    except (OSError, ValueError, ValidationError):
        return None


def _elements(plan: VerificationPlan) -> Iterator[tuple[str, dict[str, object]]]:
    for step in plan.steps:
        pairs = [(step.expression, step.fingerprint)]
        pairs += [(check.expression, check.fingerprint) for check in step.checks]
        for expression, known in pairs:
            if expression and known is not None:
                yield to_source(expression), known.model_dump(mode="json", exclude_none=True)
