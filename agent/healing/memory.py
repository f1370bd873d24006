"""What a session knows of elements: fingerprints, and where they were found lately.

Fingerprints come with the knowledge (`UIElement.fingerprint`) and from this session's own steps. Nothing
is remembered before its step proved itself; what then is worth telling the desk goes onto the bus.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from pydantic import ValidationError

from agent.events import ElementUsed, Event
from agent.healing.healer import Done
from agent.healing.identity import without_values
from agent.page.locating import means_first_or_last, summary
from agent.ports import HealCounters, Locators
from kb_schema.fingerprints import Fingerprint
from kb_schema.screens import UIElement
from kb_schema.selectors import Selector
from kb_schema.storage import Locator

AGREEING = 2
"""Strategies that must lead to an element of a step that nothing proves (DESIGN 6)."""
_NUMBERED = re.compile(
    r"(?<=/)(?:\d+|[0-9a-f]{8}-[0-9a-f-]{27}|[A-Za-z]{1,6}[-_]\d+|[0-9a-f]{16,})(?=/|$)", re.IGNORECASE
)

_SEEN, _AS_WRITTEN = "seen", "as_written"

Key = tuple[str, str]
"""Screen and element; for what no screen has as an element (`unlisted`) the first is empty."""


@dataclass
class _Used:
    key: Key
    done: Done
    template: str
    parameterized: bool
    values: Mapping[str, object]
    cached: Selector | None
    written: Selector | None = None

    @property
    def proven_by_itself(self) -> bool:
        """Whether it may be learned from without a postcondition (DESIGN 6): two things must agree, of a
        heal those that told the element.
        """
        healed = self.done.healed
        if healed is not None and healed.moved:
            return healed.witnesses >= AGREEING
        return self.done.recognised or self.done.agreeing >= AGREEING


@dataclass
class ElementMemory:
    """One per session; tabs of a session share it."""

    website_id: str = ""
    locators: Locators | None = None
    """The locator cache (PACTS 9.2); None: none is kept."""
    heals: HealCounters | None = None
    """How often elements were healed in a run (PACTS 9.2); None: nobody counts."""
    run_id: str = ""
    _known: dict[Key, Fingerprint] = field(default_factory=dict)
    _healed: dict[Key, Selector] = field(default_factory=dict)
    _unproven: set[Key] = field(default_factory=set)
    """Healed since the step began."""
    _pending: list[_Used] = field(default_factory=list)

    def known_unlisted(self, key: Key) -> Fingerprint | None:
        """What this session knows of what a selector of a task led to."""
        return self._known.get(key)

    def known(self, screen_id: str, element: UIElement) -> Fingerprint | None:
        """The newest that is known of an element."""
        return self._known.get((screen_id, element.element_id), element.fingerprint)

    def others(self, screen_id: str, elements: Mapping[str, UIElement], but: str) -> tuple[Fingerprint, ...]:
        """What is known of the other elements of a screen."""
        found = (self.known(screen_id, each) for name, each in elements.items() if name != but)
        return tuple(each for each in found if each is not None)

    def healed(self, key: Key) -> Selector | None:
        """What an element was found by in this session, where its own selector did not lead to it.

        At once, before the step is proven: its postconditions are about that very element.
        """
        return self._healed.get(key)

    def healed_unlisted(self, selector: Selector, url: str) -> Selector | None:
        """Likewise of what a task names by a selector of its own, on such a page."""
        key = unlisted(selector, url)
        return None if key is None else self._healed.get(key)

    def stands_for(self, key: Key, selector: Selector) -> None:
        """Find an element by another selector from now on, unless the step is contradicted."""
        self._healed[key] = selector
        self._unproven.add(key)

    def no_longer(self, key: Key) -> None:
        """Back to its own selector: the other one did not help."""
        self._healed.pop(key, None)
        self._unproven.discard(key)

    async def cached(self, key: Key, url: str) -> Selector | None:
        """Where the element was found lately on such a page."""
        if key in self._healed or self.locators is None:
            return self._healed.get(key)
        kept = await self.locators.locator(self.website_id, url_template(url), _name(key))
        if kept is None:
            return None
        selector, seen = _without_sight(kept.selector)
        if seen is not None:
            self._known.setdefault(key, seen)
        return selector

    def used(
        self,
        key: Key,
        done: Done,
        url: str,
        *,
        parameterized: bool,
        values: Mapping[str, object],
        cached: Selector | None = None,
        written: Selector | None = None,
    ) -> None:
        """An action was done on an element; `settle` says what came of it. `written` is what a task itself
        names it by, where no screen does.
        """
        if cached is not None and done.performed.strategy not in {each.type for each in cached.strategies}:
            cached = None  # it was not by this that it was found
        by = done.healed.selector if done.healed is not None and done.healed.moved else cached
        if by is not None and not parameterized:
            self.stands_for(key, by)
        self._pending.append(_Used(key, done, url_template(url), parameterized, values, cached, written))

    def begin(self) -> None:
        """A step begins: what was done in one that broke off proves nothing."""
        self._pending.clear()
        self._unproven.clear()

    async def settle(self, held: bool | None, tell: Callable[[Event], None]) -> None:
        """The step's postconditions held (True), did not (False), or it has none (None)."""
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

    async def _keep(self, used: _Used, tell: Callable[[Event], None]) -> None:
        healed, seen = used.done.healed, None
        if used.done.sighting is not None:
            seen = used.done.sighting.fingerprint
            if used.parameterized:
                seen = without_values(seen, used.values)
            self._known[used.key] = seen
        moved = healed.selector if healed is not None and healed.moved else None
        if used.parameterized or self.locators is None:
            kept = None
        elif used.written is None or seen is None:
            kept = moved
        else:  # no desk keeps what is known of it
            kept = _with_sight(moved or used.cached, used.written, seen)
        if kept is not None and self.locators is not None:
            await self.locators.put_locator(
                Locator(
                    website_id=self.website_id, url=used.template, element=_name(used.key),
                    selector=kept, confidence=1.0 if healed is None else healed.score,
                )
            )  # fmt: skip
        if used.key[0]:
            tell(_event(used, succeeded=True, fingerprint=seen))

    async def _withdraw(self, used: _Used, tell: Callable[[Event], None]) -> None:
        healed = used.done.healed
        if used.cached is None and (healed is None or not healed.moved):
            return
        self._known.pop(used.key, None)
        self._healed.pop(used.key, None)
        if self.locators is not None:
            await self.locators.forget_locator(self.website_id, used.template, _name(used.key))
        if used.key[0]:
            tell(_event(used, succeeded=False, fingerprint=None))


def _with_sight(other: Selector | None, written: Selector, seen: Fingerprint) -> Selector:
    """A selector for the cache that carries what its element was like, in its first strategy's `meta`; the
    one that was written only carries it.
    """
    selector = other or written
    first, *more = selector.strategies
    meta = {**first.meta, _SEEN: seen.to_json(), _AS_WRITTEN: other is None}
    return selector.model_copy(update={"strategies": (first.model_copy(update={"meta": meta}), *more)})


def _without_sight(selector: Selector) -> tuple[Selector | None, Fingerprint | None]:
    """The selector that is to be tried (None: only the one that is written), and what its element was like."""
    first, *more = selector.strategies
    if _SEEN not in first.meta:
        return selector, None
    meta = dict(first.meta)
    seen, as_written = meta.pop(_SEEN), meta.pop(_AS_WRITTEN, False)
    try:
        known = Fingerprint.model_validate(seen)
    except ValidationError:  # written down by another version
        known = None
    if as_written:
        return None, known
    return selector.model_copy(update={"strategies": (first.model_copy(update={"meta": meta}), *more)}), known


def _event(used: _Used, *, succeeded: bool, fingerprint: Fingerprint | None) -> ElementUsed:
    healed = used.done.healed
    other = used.cached  # what it was healed by before, and was found by again
    if healed is not None and healed.moved:
        other = healed.selector
    return ElementUsed(
        screen_id=used.key[0],
        element_id=used.key[1],
        strategy=used.done.performed.strategy or "",
        succeeded=succeeded,
        fingerprint={} if fingerprint is None else fingerprint.to_json(),
        healed_selector=other.to_json() if other is not None and not used.parameterized else {},
        score=None if healed is None else healed.score,
        reason="" if healed is None else healed.reason,
    )


def unlisted(selector: Selector, url: str) -> Key | None:
    """The key of what a task names by a selector of its own; None where that says whichever is there."""
    counts = selector.parameterized or any(each.type == "dom_index" for each in selector.strategies)
    if counts or means_first_or_last(selector):
        return None
    return "", f"{url_template(url)} {summary(selector)}"


def _name(key: Key) -> str:
    return ".".join(filter(None, key))


def url_template(url: str) -> str:
    """The address without what names one thing of many: numbers and keys in the path, query, fragment."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}{_NUMBERED.sub('*', parts.path or '/')}"
