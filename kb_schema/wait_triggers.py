"""Waiting for an observable event instead of for a time (KS 9.9)."""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator

from kb_schema.base import Model, Seconds
from kb_schema.conditions import Condition, ElementHidden, ElementVisible, EventFired

TriggerEvent = Literal["dom_mutation", "network_idle", "element_visible", "element_hidden", "url_change"]


class WaitFallback(Model):
    """What to do if the event does not occur: an authored pause, the only sleep there is."""

    action: Literal["wait"] = "wait"
    duration: Seconds = 0.5
    reason: str | None = None


class ObservabilityTrigger(Model):
    """Wait for the event, at most `timeout` seconds.

    Armed before the action, so that a fast event is not missed. Without a `fallback` a timeout is a failure.
    """

    event: TriggerEvent
    selector: str | None = None
    """An element id or CSS. For `dom_mutation`: where to observe changes (default: anywhere)."""
    timeout: Seconds = 10.0
    fallback: WaitFallback | None = None
    reason: str | None = None

    @model_validator(mode="after")
    def _selector_where_needed(self) -> ObservabilityTrigger:
        if self.event in ("element_visible", "element_hidden") and not self.selector:
            raise ValueError(f"{self.event} needs a selector")
        return self

    @property
    def condition(self) -> Condition:
        """The trigger as an entry of the condition model."""
        if self.event == "element_visible":
            return ElementVisible(type="element_visible", element=self.selector or "", timeout=self.timeout)
        if self.event == "element_hidden":
            return ElementHidden(type="element_hidden", element=self.selector or "", timeout=self.timeout)
        return EventFired(type=self.event, selector=self.selector, timeout=self.timeout)
