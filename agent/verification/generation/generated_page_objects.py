"""Decides on page objects: one for each page on which two tests use the same element, and no others."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agent.verification.generation.function_body import SharedElement
from agent.verification.generation.pytest_names import (
    add_role_suffix,
    class_name,
    identifier,
    make_unique_name,
    path_pattern,
)
from agent.verification.generation.text_expressions import TextExpressions
from kb_schema.locator_expressions import to_source
from kb_schema.placeholders import is_open
from kb_schema.verification import PlanStep, VerificationPlan

LONGEST_HEADING = 4
"""In words; a longer heading is a sentence and does not name a page."""


@dataclass(slots=True)
class PageObject:
    """A page that several tests share."""

    class_name: str
    module: str
    path: str
    """With `*` for what changes."""
    heading: str
    elements: dict[str, str] = field(default_factory=dict)
    """Attribute -> source, starting with `page`, in order of first use."""
    opened: bool = False
    """A test begins there."""

    @property
    def about(self) -> str:
        """Its class name."""
        return f"{self.heading}." if self.heading else f"The page at {self.path}."

    @property
    def needs_re(self) -> bool:
        """Whether a locator has a pattern."""
        return any("re.compile(" in source for source in self.elements.values())

    @property
    def variable(self) -> str:
        """The name tests give it."""
        return self.module


def page_objects(
    plans: Sequence[VerificationPlan], login: VerificationPlan | None = None
) -> list[PageObject]:
    """Return the page objects, in the order of their paths. The login counts as one more test."""
    places: dict[str, list[tuple[int, PlanStep]]] = {}
    for number, plan in enumerate([*plans, *([login] if login else [])]):
        for step in plan.steps:
            if step.expression and step.page_url and not _varies(step):
                places.setdefault(path_pattern(step.page_url), []).append((number, step))
    taken: set[str] = set()
    return [
        _object(path, [step for _, step in uses], taken)
        for path, uses in sorted(places.items())
        if _is_shared(uses)
    ]


def shared_elements(objects: Sequence[PageObject]) -> dict[str, dict[str, SharedElement]]:
    """Return where an element of a shared page is: by path, then by source."""
    return {
        each.path: {
            source: SharedElement(each.class_name, each.module, each.variable, attribute)
            for attribute, source in each.elements.items()
        }
        for each in objects
    }


def _varies(step: PlanStep) -> bool:
    """Return whether the locator contains a value of one run: it then stays where it is used."""
    return any(is_open(text) for link in step.expression for text in _strings(link.arguments, link.keywords))


def _strings(arguments: Sequence[object], keywords: Mapping[str, object]) -> list[str]:
    return [each for each in (*arguments, *keywords.values()) if isinstance(each, str)]


def _is_shared(uses: Sequence[tuple[int, PlanStep]]) -> bool:
    tests: dict[str, set[int]] = {}
    for number, step in uses:
        tests.setdefault(to_source(step.expression), set()).add(number)
    return any(len(each) > 1 for each in tests.values())


def _object(path: str, steps: Sequence[PlanStep], taken: set[str]) -> PageObject:
    headings = {step.page_heading for step in steps}
    heading = headings.pop() if len(headings) == 1 else ""
    telling = heading if _names_the_page(heading, path) else _from_path(path)
    module = make_unique_name(f"{identifier(telling, 'start').rstrip('_')}_page", taken)
    taken.add(module)
    found = PageObject(class_name(module, "Start"), module, path, heading)
    texts = TextExpressions()
    names: set[str] = {"page", "open"}
    for step in steps:
        source = to_source(step.expression, text=texts.literal)
        if source not in found.elements.values():
            wanted = add_role_suffix(identifier(step.intent.element or step.name), step.role)
            attribute = make_unique_name(wanted, names)
            names.add(attribute)
            found.elements[attribute] = source
    return found


def _names_the_page(heading: str, path: str) -> bool:
    """Return whether a heading is a name rather than a greeting: it shares a word with the path."""
    words = identifier(heading, "").split("_")
    return len(words) <= LONGEST_HEADING and any(
        each in _from_path(path).lower() for each in words if len(each) > 2
    )


def _from_path(path: str) -> str:
    parts = [part for part in path.split("/") if part and part != "*"]
    return re.sub(r"\.\w{2,5}$", "", " ".join(parts)) or "start"
