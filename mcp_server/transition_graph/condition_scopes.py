"""What conditions may look up: the elements of a screen, or nothing when there is no page yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kb_schema.probes import ConditionScope
from kb_schema.screens import UIElement
from kb_schema.selectors import Selector, css


@dataclass(frozen=True, slots=True)
class ScreenScope(ConditionScope):
    """The elements of one screen; a name that is no element's is literal CSS."""

    elements: Mapping[str, UIElement]
    signed_in: tuple[Any, ...] = ()

    def element(self, reference: str | Selector) -> Selector | None:
        """The selector meant."""
        if isinstance(reference, Selector):
            return reference
        found = self.elements.get(reference)
        return css(reference) if found is None else found.selector

    @property
    def signed_in_when(self) -> tuple[Any, ...]:
        """The website's `authenticated_when`."""
        return self.signed_in


@dataclass(frozen=True, slots=True)
class PagelessScope(ConditionScope):
    """Ahead of a page nothing can be looked up, so that what needs a page stays unknown."""

    def element(self, reference: str | Selector) -> Selector | None:  # noqa: ARG002 - the port's signature
        """Nothing."""
        return None

    @property
    def signed_in_when(self) -> tuple[Any, ...]:
        """Nothing."""
        return ()
