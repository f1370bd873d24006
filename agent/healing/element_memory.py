"""Stores a session's fingerprints of elements, and the selectors they were last found by.

Fingerprints come from the knowledge base (`UIElement.fingerprint`) and from this session's own steps. A
fingerprint is stored only after its step is proven; the event `ElementUsed` then reports it to the knowledge
server.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from pydantic import ValidationError

from agent.events import ElementUsed, Event
from agent.healing.healer import HealerResult
from agent.healing.identity_check import remove_parameter_values
from agent.page.live_selectors import means_first_or_last, summarize_selector
from agent.ports import HealCountersPort, LocatorCachePort
from kb_schema.cached_locators import Locator
from kb_schema.fingerprints import Fingerprint
from kb_schema.screens import UIElement
from kb_schema.selectors import Selector

AGREEING = 2
"""Strategies that must lead to the same element if no postcondition proves the step."""
_NUMBERED = re.compile(
    r"(?<=/)(?:\d+|[0-9a-f]{8}-[0-9a-f-]{27}|[A-Za-z]{1,6}[-_]\d+|[0-9a-f]{16,})(?=/|$)", re.IGNORECASE
)

_SEEN, _AS_WRITTEN = "seen", "as_written"

ElementKey = tuple[str, str]
"""Screen id and element id; the screen id is empty for an element of no screen (`build_selector_key`)."""


@dataclass(frozen=True, slots=True)
class StepTarget:
    """The step under way, with the selector and the fingerprint that its task has for its element."""

    task_id: str
    step_id: str
    selector: Selector
    fingerprint: Fingerprint | None = None


@dataclass
class _UsedElement:
    key: ElementKey
    done: HealerResult
    template: str
    parameterized: bool
    values: Mapping[str, object]
    cached: Selector | None
    written: Selector | None = None
    target: StepTarget | None = None
    """The step whose own selector the element was named by."""

    @property
    def moved(self) -> Selector | None:
        """The selector by which it was found elsewhere."""
        healed = self.done.healed
        return healed.selector if healed is not None and healed.moved else None

    @property
    def proven_by_itself(self) -> bool:
        """Whether it may be stored without a postcondition: two independent features must agree; of a healed
        element, those that identified it.
        """
        healed = self.done.healed
        if healed is not None and healed.moved:
            return healed.witnesses >= AGREEING
        return self.done.checked.recognised or self.done.checked.agreeing >= AGREEING


@dataclass
class ElementMemory:
    """The elements of one session; its tabs share it."""

    website_id: str = ""
    locators: LocatorCachePort | None = None
    """The locator cache (PACTS 9.2); None: no cache."""
    heals: HealCountersPort | None = None
    """Counts how often elements were healed in a run (PACTS 9.2); None: not counted."""
    run_id: str = ""
    _known: dict[ElementKey, Fingerprint] = field(default_factory=dict)
    _healed: dict[ElementKey, Selector] = field(default_factory=dict)
    _unproven: set[ElementKey] = field(default_factory=set)
    """Healed since the step began."""
    _pending: list[_UsedElement] = field(default_factory=list)
    _target: StepTarget | None = None
    _awaiting: list[ElementUsed] = field(default_factory=list)
    """Other elements of steps that prove nothing by themselves."""

    def known_unlisted(self, key: ElementKey) -> Fingerprint | None:
        """Return the fingerprint of the element that a task's own selector led to in this session."""
        return self._known.get(key)

    def known(self, screen_id: str, element: UIElement) -> Fingerprint | None:
        """Return the newest fingerprint of an element."""
        return self._known.get((screen_id, element.element_id), element.fingerprint)

    def others(self, screen_id: str, elements: Mapping[str, UIElement], but: str) -> tuple[Fingerprint, ...]:
        """Return the fingerprints of the other elements of a screen."""
        found = (self.known(screen_id, each) for name, each in elements.items() if name != but)
        return tuple(each for each in found if each is not None)

    def healed(self, key: ElementKey) -> Selector | None:
        """Return the selector by which a healed element was found in this session.

        It is available before the step is proven, because the step's postconditions are about that element.
        """
        return self._healed.get(key)

    def healed_unlisted(self, selector: Selector, url: str) -> Selector | None:
        """The same for an element that a task names by its own selector, on such a page."""
        key = build_selector_key(selector, url)
        return None if key is None else self._healed.get(key)

    def stands_for(self, key: ElementKey, selector: Selector) -> None:
        """Find an element by another selector from now on, until a step contradicts that."""
        self._healed[key] = selector
        self._unproven.add(key)

    def no_longer(self, key: ElementKey) -> None:
        """Go back to the element's own selector: the other one did not help."""
        self._healed.pop(key, None)
        self._unproven.discard(key)

    async def cached(self, key: ElementKey, url: str) -> Selector | None:
        """Return the selector by which the element was last found on such a page."""
        if key in self._healed or self.locators is None:
            return self._healed.get(key)
        kept = await self.locators.locator(self.website_id, template_url(url), _name(key))
        if kept is None:
            return None
        selector, seen = _split_fingerprint(kept.selector)
        if seen is not None:
            self._known.setdefault(key, seen)
        return selector

    def used(
        self,
        key: ElementKey,
        done: HealerResult,
        url: str,
        *,
        parameterized: bool,
        values: Mapping[str, object],
        cached: Selector | None = None,
        written: Selector | None = None,
    ) -> None:
        """Record that an action was done on an element; `settle` decides whether to store it.

        `written` is the task's own selector for an element of no screen.
        """
        if cached is not None and done.performed.strategy not in {each.type for each in cached.strategies}:
            cached = None  # the element was not found by the cached selector
        target = self._target if self._target is not None and self._target.selector == written else None
        use = _UsedElement(key, done, template_url(url), parameterized, values, cached, written, target)
        by = use.moved or cached
        if by is not None and not parameterized:
            self.stands_for(key, by)
        self._pending.append(use)

    def begin(self, target: StepTarget | None = None) -> None:
        """Begin a step: forget the uses of a step that was broken off, since they prove nothing.

        `target`: what the step names by its own selector.
        """
        self._target = target
        self._pending.clear()
        self._unproven.clear()

    async def settle(self, held: bool | None, tell: Callable[[Event], None]) -> None:
        """End a step whose postconditions held (True), did not hold (False), or do not exist (None)."""
        pending, self._pending = self._pending, []
        unproven, self._unproven = self._unproven, set()
        for key in unproven if held is False else ():
            self._healed.pop(key, None)
        for each in pending:
            if each.done.healed is not None and self.heals is not None:
                await self.heals.count_heal(self.run_id, _name(each.key))
            if held is False:
                await self._withdraw(each, tell)
            elif held or each.proven_by_itself:
                await self._keep(each, tell)
            elif each.target is not None and each.moved is not None:
                self.report_when_verified(
                    _event(each, succeeded=True, fingerprint=each.done.checked.fingerprint)
                )

    def report_when_verified(self, use: ElementUsed) -> None:
        """Keep the use of another element until the run ends: it is reported if the run is verified."""
        self._awaiting.append(use)

    def conclude(self, tell: Callable[[Event], None], *, verified: bool) -> None:
        """End the run. Where its success criteria hold, healed elements of its steps are reported; none is cached."""
        awaiting, self._awaiting = self._awaiting, []
        for each in awaiting if verified else ():
            tell(each)

    async def _keep(self, used: _UsedElement, tell: Callable[[Event], None]) -> None:
        healed, seen = used.done.healed, used.done.checked.fingerprint
        if seen is not None:
            if used.parameterized:
                seen = remove_parameter_values(seen, used.values)
            self._known[used.key] = seen
        moved = used.moved
        if used.parameterized or self.locators is None:
            kept = None
        elif used.written is None or seen is None:
            kept = moved
        else:  # the knowledge base has no place for its fingerprint
            kept = _add_fingerprint(moved or used.cached, used.written, seen)
        if kept is not None and self.locators is not None:
            await self.locators.put_locator(
                Locator(
                    website_id=self.website_id,
                    url=used.template,
                    element=_name(used.key),
                    selector=kept,
                    confidence=1.0 if healed is None else healed.score,
                )
            )
        if used.key[0] or used.target is not None:
            tell(_event(used, succeeded=True, fingerprint=seen))

    async def _withdraw(self, used: _UsedElement, tell: Callable[[Event], None]) -> None:
        if used.cached is None and used.moved is None:
            return
        self._known.pop(used.key, None)
        self._healed.pop(used.key, None)
        if self.locators is not None:
            await self.locators.forget_locator(self.website_id, used.template, _name(used.key))
        if used.key[0] or used.target is not None:
            tell(_event(used, succeeded=False, fingerprint=None))


def _add_fingerprint(other: Selector | None, written: Selector, seen: Fingerprint) -> Selector:
    """Return a selector for the cache that carries the element's fingerprint in its first strategy's `meta`.

    Without `other`, the task's own selector is only the carrier.
    """
    selector = other or written
    first, *more = selector.strategies
    meta = {**first.meta, _SEEN: seen.to_json(), _AS_WRITTEN: other is None}
    return selector.model_copy(update={"strategies": (first.model_copy(update={"meta": meta}), *more)})


def _split_fingerprint(selector: Selector) -> tuple[Selector | None, Fingerprint | None]:
    """Return the selector to try first (None: only the task's own), and the element's fingerprint."""
    first, *more = selector.strategies
    if _SEEN not in first.meta:
        return selector, None
    meta = dict(first.meta)
    seen, as_written = meta.pop(_SEEN), meta.pop(_AS_WRITTEN, False)
    try:
        known = Fingerprint.model_validate(seen)
    except ValidationError:  # stored by another version
        known = None
    if as_written:
        return None, known
    return selector.model_copy(update={"strategies": (first.model_copy(update={"meta": meta}), *more)}), known


def _event(used: _UsedElement, *, succeeded: bool, fingerprint: Fingerprint | None) -> ElementUsed:
    healed = used.done.healed
    other = (
        used.moved or used.cached
    )  # found elsewhere; or an earlier healing found it, and it is there still
    target = used.target
    if target is not None and fingerprint is not None:
        fingerprint = keep_recorded_fields(fingerprint, target.fingerprint)
    return ElementUsed(
        screen_id=used.key[0],
        element_id=used.key[1],
        strategy=used.done.performed.strategy or "",
        succeeded=succeeded,
        fingerprint={} if fingerprint is None else fingerprint.to_json(),
        healed_selector=other.to_json() if other is not None and not used.parameterized else {},
        score=None if healed is None else healed.score,
        reason="" if healed is None else healed.reason,
        task_id="" if target is None else target.task_id,
        step_id="" if target is None else target.step_id,
    )


def keep_recorded_fields(seen: Fingerprint, recorded: Fingerprint | None) -> Fingerprint:
    """Return what is seen of an element, without the fields that no recording has or that varied between them."""
    if recorded is None:
        return seen
    kept = {
        name: getattr(seen, name)
        for name in Fingerprint.model_fields
        if getattr(recorded, name) not in (None, (), {})
    }
    own = {name: value for name, value in seen.attributes.items() if name in recorded.attributes}
    return Fingerprint(**{**kept, "attributes": own})


def build_selector_key(selector: Selector, url: str) -> ElementKey | None:
    """Return the key of an element that a task names by its own selector; None if it means one by its position."""
    counts = selector.parameterized or any(each.type == "dom_index" for each in selector.strategies)
    if counts or means_first_or_last(selector):
        return None
    return "", f"{template_url(url)} {summarize_selector(selector)}"


def _name(key: ElementKey) -> str:
    return ".".join(filter(None, key))


def template_url(url: str) -> str:
    """Return the address without numbers and ids in its path, without query and fragment."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}{_NUMBERED.sub('*', parts.path or '/')}"
