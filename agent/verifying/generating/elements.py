"""What is known of the elements that a suite's locators lead to, in a file beside the tests.

Whoever mends the suite after a redesign (`periplus optimize`) judges by it which element was meant; the
tests themselves do not read it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import ValidationError

from agent.playwright_python.writing import to_source
from kb_schema.fingerprints import Fingerprint
from kb_schema.playwright_calls import Expression
from kb_schema.verification import Plan

FILE = ".elements.json"


def elements_file(plans: Sequence[Plan]) -> bytes:
    """The file: locator as source -> fingerprint. Plans hold no secrets, hence neither does it."""
    found = {source: known for plan in plans for source, known in _elements(plan)}
    return (json.dumps(dict(sorted(found.items())), indent=1, ensure_ascii=False) + "\n").encode()


def known_element(folder: Path, expression: Expression) -> Fingerprint | None:
    """What a locator of the suite in that folder led to when it was generated; None where nobody knows."""
    try:
        said = json.loads((folder / FILE).read_bytes())
        held = said.get(to_source(expression)) if isinstance(said, dict) else None
        return None if held is None else Fingerprint.model_validate(held)
    except (OSError, ValueError, ValidationError):
        return None


def _elements(plan: Plan) -> Iterator[tuple[str, dict[str, object]]]:
    for step in plan.steps:
        pairs = [(step.expression, step.fingerprint)]
        pairs += [(check.expression, check.fingerprint) for check in step.checks]
        for expression, known in pairs:
            if expression and known is not None:
                yield to_source(expression), known.model_dump(mode="json", exclude_none=True)
