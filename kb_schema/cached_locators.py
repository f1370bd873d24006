"""An entry of the locator cache; apart from the other records of a run, because it alone needs the models of selectors."""

from __future__ import annotations

from kb_schema.base import Model, Probability
from kb_schema.selectors import Selector


class Locator(Model):
    """Where an element of a page was found: an entry of the locator cache (PACTS `pom:{url}:{element}`)."""

    website_id: str
    url: str
    element: str
    selector: Selector
    confidence: Probability
