"""Which page objects a suite has: of pages on which two tests use the same element, and of no others."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agent.playwright_python.writing import to_source
from agent.verifying.generating.body import SharedElement
from agent.verifying.generating.naming import class_name, identifier, path_pattern, untaken, with_role
from agent.verifying.generating.texts import Texts
from kb_schema.placeholders import is_open
from kb_schema.verification import Plan, PlanStep

LONGEST_HEADING = 4
"""Words; a longer heading is a sentence, and names no page."""


@dataclass(slots=True)
class PageObject:
    """A page that several tests share."""

    class_name: str
    module: str
    path: str
    """With `*` for what changes."""
    heading: str
    elements: dict[str, str] = field(default_factory=dict)
    """Attribute -> source, from `page` on, in the order in which they were met."""
    opened: bool = False
    """A test begins there."""

    @property
    def about(self) -> str:
        """What it is called."""
        return f"{self.heading}." if self.heading else f"The page at {self.path}."

    @property
    def needs_re(self) -> bool:
        """Whether a locator has a pattern."""
        return any("re.compile(" in source for source in self.elements.values())

    @property
    def variable(self) -> str:
        """What tests call it."""
        return self.module


def page_objects(plans: Sequence[Plan], login: Plan | None = None) -> list[PageObject]:
    """The page objects, in the order of their paths. The login is one more that uses pages."""
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
    """By path, then by source: where an element of a shared page is."""
    return {
        each.path: {
            source: SharedElement(each.class_name, each.module, each.variable, attribute)
            for attribute, source in each.elements.items()
        }
        for each in objects
    }


def _varies(step: PlanStep) -> bool:
    """Whether its locator has something of one run in it: it stays where it is used."""
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
    module = untaken(f"{identifier(telling, 'start').rstrip('_')}_page", taken)
    taken.add(module)
    found = PageObject(class_name(module, "Start"), module, path, heading)
    texts = Texts()
    names: set[str] = {"page", "open"}
    for step in steps:
        source = to_source(step.expression, text=texts.literal)
        if source not in found.elements.values():
            wanted = with_role(identifier(step.intent.element or step.name), step.role)
            attribute = untaken(wanted, names)
            names.add(attribute)
            found.elements[attribute] = source
    return found


def _names_the_page(heading: str, path: str) -> bool:
    """Whether a heading is a name rather than a greeting: it has a word of the path."""
    words = identifier(heading, "").split("_")
    return len(words) <= LONGEST_HEADING and any(
        each in _from_path(path).lower() for each in words if len(each) > 2
    )


def _from_path(path: str) -> str:
    parts = [part for part in path.split("/") if part and part != "*"]
    return re.sub(r"\.\w{2,5}$", "", " ".join(parts)) or "start"
