"""Single action calls: an action document's recipe, or one action of the vocabulary."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playwright.async_api import Error as PlaywrightError

from agent.engine.asides import Asides
from agent.engine.calls import bind, fill_call, fill_conditions
from agent.engine.companion import Companion
from agent.errors import PersonNeeded, StepFailed, touched_the_page
from agent.events import ActionDone
from agent.healing.by_words import called
from agent.healing.conditions import css_named, stored_as
from agent.healing.healer import Act, Healer, Meant
from agent.healing.identity import without_values
from agent.healing.memory import unlisted
from agent.page.acting import Inspect, Performed, perform
from agent.page.errors import GateFailed, PageError, Point
from agent.page.locating import (
    beginning_with,
    fill_selector_parameters,
    learned_first,
    locate,
    means_first_or_last,
    summary,
)
from agent.page.waiting import Armed, arm
from agent.session import Session, elements_named
from kb_schema import vocabulary
from kb_schema.actions import Action
from kb_schema.calls import ActionCall, ExecutionStep
from kb_schema.conditions import BaseCondition
from kb_schema.probes import Facts, Status
from kb_schema.rules.references import looks_like_css
from kb_schema.screens import UIElement
from kb_schema.selectors import Selector, css
from kb_schema.templates import as_text, fill_value
from kb_schema.triggers import ObservabilityTrigger
from kb_schema.urls import resolve

if TYPE_CHECKING:
    from agent.engine.engine import Engine

ELSEWHERE = frozenset({"run_task", "execute_iterator"})
"""Actions made of other actions, of which each has its own dialogs and downloads."""
MUST_HAPPEN = frozenset({"element_visible", "element_hidden", "url_change"})
"""Events without which a step has not done its work. That nothing in a page or network moved is
no failure by itself: the postconditions decide."""


class Actions:
    """Performs calls on the session's page for one engine."""

    def __init__(self, session: Session, engine: Engine, companion: Companion) -> None:
        self._session, self._engine, self._companion = session, engine, companion
        self._expecting: tuple[BaseCondition, ...] = ()
        self._asides = Asides(session)

    def expect(self, conditions: tuple[BaseCondition, ...]) -> None:
        """What the step that begins is to bring about."""
        self._expecting = conditions
        self._session.memory.begin()

    async def settle(self, held: bool | None) -> None:
        """Whether it did; None where nothing can tell. What was learned of elements rests on it."""
        self._expecting = ()
        await self._session.memory.settle(held, self._session.bus.tell)
        await self._asides.settle(unseen=held is None)

    async def perform(self, call: ActionCall, values: Mapping[str, Any]) -> None:
        """The call; its fallback actions in order where it failed without touching the page.

        Raises `StepFailed`, `PersonNeeded`, or a `PageError`.
        """
        candidates = (call, *call.fallback_actions)
        for number, candidate in enumerate(candidates, start=1):
            try:
                await self._perform_one(candidate, values)
            except (PageError, StepFailed) as exc:
                if number == len(candidates) or touched_the_page(exc):
                    raise
            else:
                return

    async def _perform_one(self, call: ActionCall, values: Mapping[str, Any]) -> None:
        filled = fill_call(call, values)
        document = await self._session.knowledge.action(filled.action_type)
        if filled.canonical_type not in ELSEWHERE:
            self._asides.expect(filled)
        try:
            async with self._watching(filled.observability_trigger, values):
                if document is not None and document.execution_steps:
                    await self._perform_document(document, filled, call, values)
                else:
                    await self._primitive(filled, values)
        except (PageError, StepFailed):
            await self._asides.settle()  # what the page did beside it says more
            raise
        got: dict[str, Any] = {}
        await self._asides.follow(filled, got)
        await self._asides.settle()
        if isinstance(values, dict):
            values.update(got)

    @asynccontextmanager
    async def _watching(
        self, trigger: ObservabilityTrigger | None, values: Mapping[str, Any]
    ) -> AsyncIterator[None]:
        """Armed before what happens inside, waited for after it; disarmed where that fails."""
        armed = await self._armed(trigger, values)
        try:
            yield
        except BaseException:
            if armed is not None:
                with suppress(PageError, PlaywrightError):
                    await armed.disarm()
            raise
        await _await_trigger(armed, trigger)

    async def _perform_document(
        self, document: Action, call: ActionCall, authored: ActionCall, values: Mapping[str, Any]
    ) -> None:
        """An action document's execution steps (KS 4.2), each wait armed before what causes it."""
        bound = {**values, **call.parameters, **bind(document, call, authored)}
        for name, parameter in document.parameters.items():
            if parameter.secret:
                self._session.context.keep_secret(bound.get(name))
        await self._require(document.preconditions, bound, f"action {document.action_id!r}")
        steps = sorted(document.execution_steps, key=lambda step: step.step)
        touched = False
        index = 0
        while index < len(steps):
            step = fill_call(steps[index], bound)
            following = steps[index + 1] if index + 1 < len(steps) else None
            index += 1
            if not await self._applies(steps[index - 1], bound):
                continue
            if step.canonical_type == "wait_for":
                await _await_trigger(
                    await self._armed(step.observability_trigger, bound), step.observability_trigger
                )
                continue
            waits = None
            if following is not None and following.canonical_type == "wait_for":
                waits = fill_call(following, bound).observability_trigger
                index += 1
            try:
                async with self._watching(waits, bound), self._watching(step.observability_trigger, bound):
                    await self._primitive(step, bound)
            except (PageError, StepFailed) as exc:
                if touched and not touched_the_page(exc):
                    raise StepFailed(
                        f"action {document.action_id!r}, step {step.step}: {exc}",
                        error=getattr(exc, "error", "step_failed"),
                        acted=True,
                    ) from exc
                raise
            touched = True
        conditions = fill_conditions(document.postconditions, bound)
        verdicts = await self._session.judge_until_held(conditions, bound)
        for condition, verdict in zip(conditions, verdicts, strict=True):
            if not verdict.held:
                raise StepFailed(
                    f"action {document.action_id!r}: {condition.type}: {verdict.evidence}",
                    error="postcondition",
                    acted=True,
                )

    async def _require(
        self, conditions: tuple[BaseCondition, ...], values: Mapping[str, Any], what: str
    ) -> None:
        filled = fill_conditions(conditions, values)
        patience = 3.0  # an action's own preconditions are about elements that may still be appearing
        verdicts = await self._session.judge_until_held(filled, values, timeout_s=patience)
        if not all(verdict.held for verdict in verdicts) and await self.find_again(filled):
            verdicts = await self._session.judge(filled, values)
        for condition, verdict in zip(filled, verdicts, strict=True):
            if not verdict.held and not condition.hard_dependency and condition.auto_remediate:
                await self._engine.steps.remedying.remedy(condition, values, self._engine.depth)
            if not verdict.held and condition.hard_dependency:
                raise StepFailed(
                    f"{what}: precondition {condition.type}: {verdict.evidence}", error=condition.type
                )

    async def find_again(self, conditions: Sequence[BaseCondition]) -> bool:
        """Look for elements that conditions are about and that nothing leads to any more; whether any was
        found. What is asked of an element is asked of that element, wherever it is now.
        """
        session, found = self._session, False
        names = frozenset[str]().union(*map(elements_named, conditions))
        elements = await session.elements()
        for name in sorted(names & elements.keys()):
            if elements[name].selector.parameterized:
                continue
            if (await locate(session.page, elements[name].selector)).resolved:
                continue
            selector = await self._found_again(name, elements)
            if selector is not None:
                session.memory.stands_for((session.screen_id or "", name), selector)
                found = True
        for text in sorted(css_named(conditions)):
            found = await self._find_css_again(text, elements) or found
        return found

    async def _found_again(self, name: str, elements: Mapping[str, UIElement]) -> Selector | None:
        """Where an element of the screen is now, if that can be said."""
        memory, screen_id = self._session.memory, self._session.screen_id or ""
        known = memory.known(screen_id, elements[name])
        if known is None:
            return None
        others = memory.others(screen_id, elements, name)
        return await self._healer().locate(
            Meant(f"{screen_id}.{name}", elements[name].selector, known, others)
        )

    async def _find_css_again(self, text: str, elements: Mapping[str, UIElement]) -> bool:
        """Where the element is now that a condition names by CSS, if anything is known of it."""
        session, written = self._session, css(text)
        key = unlisted(written, session.page.url)
        if key is None or (await locate(session.page, written)).count:
            return False
        screen_id, known = session.screen_id or "", session.memory.known_unlisted(key)
        prints = {each: session.memory.known(screen_id, elements[each]) for each in elements}
        name, selector = stored_as(text, elements, prints), None
        if name is not None:
            selector = session.memory.healed((screen_id, name))
            selector = selector or await self._found_again(name, elements)
        elif known is not None:
            selector = await self._healer().locate(Meant(summary(written), written, known))
        if selector is None:
            return False
        session.memory.stands_for(key, selector)
        return True

    def _healer(self) -> Healer:
        session = self._session
        policy = session.healing.while_dismissing if self._engine.dismissing else session.healing
        return Healer(
            session.page, session.bus.tell, policy=policy, decider=session.decider,
            dismiss=self._engine.dismiss_overlays,
        )  # fmt: skip

    async def _applies(self, step: ExecutionStep, values: Mapping[str, Any]) -> bool:
        if step.condition is None:
            return True
        if isinstance(step.condition, str):
            value = fill_value(step.condition, {**values})
            return value not in (None, "", False, "false", "False", 0)
        (condition,) = fill_conditions((step.condition,), values)
        (verdict,) = await self._session.judge([condition], values)
        if verdict.status is Status.UNKNOWN:
            raise StepFailed(
                f"whether step {step.step} applies could not be evaluated: {verdict.evidence}",
                error="condition_unknown",
            )
        return verdict.held

    # -- one action of the vocabulary --------------------------------------------------------------

    async def _primitive(self, call: ActionCall, values: Mapping[str, Any]) -> None:
        match call.canonical_type:
            case "navigate" if call.target_screen is not None:
                await self._engine.guide.go_to(call.target_screen, method=call.method, url=call.url)
            case "wait":
                await self._wait(call)
            case "wait_for" if call.observability_trigger is not None:
                await _await_trigger(
                    await self._armed(call.observability_trigger, values), call.observability_trigger
                )
            case "run_task" if call.task_id is not None:
                await self._engine.sub_task(call.task_id, call.inputs, self._engine.depth)
            case "close_tab":
                await self._asides.close_tab()
            case "no_op" | "wait_for":
                return
            case name if vocabulary.canonical(name) is None:
                raise StepFailed(f"no action {call.action_type!r}", error="unknown_action")
            case name:
                await self._on_page(name, call, values)

    async def _wait(self, call: ActionCall) -> None:
        """An authored pause, or a wait for a person (MA `wait(True)`)."""
        if call.duration is None and isinstance(call.value, int | float) and call.value is not True:
            await asyncio.sleep(min(float(call.value), 60.0))
        elif call.duration is not None:
            await asyncio.sleep(call.duration)
        else:
            raise PersonNeeded("the task waits for a person here", hint=call.narration)

    async def _on_page(self, name: str, call: ActionCall, values: Mapping[str, Any]) -> None:
        session = self._session
        selector = await self._selector(call, values)
        await self._companion.before_action(call, selector)
        secret = call.value is not None and session.context.redact(call.value) != call.value
        if secret and selector is not None:
            session.secret_fields.append(selector)
        if session.veil is not None:
            await session.veil.draw(selector if secret else None)
        url_before = session.page.url
        html_before = (await session.snapshot()).html if session.bus.pages else None
        started, error = time.monotonic(), None
        try:
            await self._act_past_overlays(name, call, selector)
        except BaseException as exc:
            error = str(exc) or type(exc).__name__
            raise
        finally:
            session.touched(screen=vocabulary.ACTION_TYPES[name].may_lead_on)
            redact = session.context.redact
            session.bus.tell(
                ActionDone(
                    action_type=name,
                    target=redact(selector.to_json() if selector else call.url),
                    args=redact({} if call.value is None else {"value": call.value}),
                    url_before=redact(url_before),
                    url_after=redact(session.page.url),
                    html_before=html_before,
                    html_after=None,
                    duration_ms=(time.monotonic() - started) * 1000,
                    error=redact(error),
                    metadata={"element": call.target} if isinstance(call.target, str) else {},
                )
            )

    async def _act_past_overlays(self, name: str, call: ActionCall, selector: Selector | None) -> None:
        """Once more where something was in the way that the website knows how to close."""
        try:
            await self._act(name, call, selector)
        except GateFailed as exc:
            if exc.point is not Point.NOT_SCOPED or not await self._engine.dismiss_overlays():
                raise
            await self._act(name, call, selector)

    async def _act(self, name: str, call: ActionCall, selector: Selector | None) -> None:
        session = self._session
        url = None
        if call.url is not None:
            url = resolve(call.url, authored_base=session.website.base_url, base=session.base_url)
        value, pace = self._value(name, call), self._companion.pace(call, session.pace)

        async def act(selector: Selector | None, inspect: Inspect | None, gate_s: float) -> Performed:
            return await perform(
                session.page, name, selector=selector, value=value, url=url, pace=pace, timeout_s=gate_s,
                allowed_origins=session.allowed_origins, inspect=inspect,
            )  # fmt: skip

        if selector is None or call.target is None:
            await act(selector, None, session.healing.gate_s)
            return
        elements = await session.elements()
        screen_id, element_id = session.screen_id, call.target
        if screen_id is None or not isinstance(element_id, str) or element_id not in elements:
            await self._act_unlisted(name, selector, act)
            return
        url_before, memory = session.context.redact(session.page.url), session.memory
        authored = elements[element_id].selector
        parameterized = authored.parameterized or any(s.type == "dom_index" for s in authored.strategies)
        known = memory.known(screen_id, elements[element_id])
        if parameterized and known is not None:
            known = without_values(known, call.parameters)
        if known is not None:
            selector = learned_first(selector)
        cached = None if parameterized else await memory.cached((screen_id, element_id), url_before)
        meant = Meant(
            name=f"{screen_id}.{element_id}",
            selector=selector if cached is None else beginning_with(cached, selector),
            known=known,
            calls=() if parameterized else called(authored, elements[element_id].metadata.get("label")),
            action=name,
            whichever=known is not None and bool(known.row) and means_first_or_last(authored),
            others=memory.others(screen_id, elements, element_id),
            careful=_needs_care(elements[element_id], name),
            expecting=self._expecting,
            facts=Facts(path_base=session.base_url, authored_base=session.website.base_url),
            scope=await session.scope(),
        )
        done = await self._healer().act(meant, act)
        memory.used(
            (screen_id, element_id),
            done,
            url_before,
            parameterized=parameterized,
            values=call.parameters,
            cached=cached,
        )

    async def _act_unlisted(self, name: str, selector: Selector, act: Act) -> None:
        """On what a task names by a selector of its own: it is taken at its word, and what it led to helps
        to find it again where it leads nowhere.
        """
        session = self._session
        url, memory = session.context.redact(session.page.url), session.memory
        key = unlisted(selector, url)
        if key is not None and session.context.redact(key[1]) != key[1]:
            key = None  # what a secret leads to is not remembered
        cached = None if key is None else await memory.cached(key, url)
        meant = Meant(
            name=summary(selector),
            selector=selector if cached is None else beginning_with(cached, selector),
            known=None if key is None else memory.known_unlisted(key),
            calls=() if key is None else called(selector),
            action=name,
            compared=False,
            expecting=self._expecting,
            facts=Facts(path_base=session.base_url, authored_base=session.website.base_url),
            scope=await session.scope(),
        )
        done = await self._healer().act(meant, act)
        if key is not None:
            memory.used(key, done, url, parameterized=False, values={}, cached=cached, written=selector)

    def _value(self, name: str, call: ActionCall) -> str | list[str] | None:
        """The value as it is put into the page. A file named without a folder is one of the sample
        files (`files` in the global context), where there are any.
        """
        value = _typed(call.value)
        if name != "upload_file" or value is None:
            return value
        names, samples = [value] if isinstance(value, str) else value, self._samples()
        if samples is not None:
            names = [str(samples / each) if Path(each).name == each else each for each in names]
        return self._asides.files(names)

    def _samples(self) -> Path | None:
        folder = self._session.context.global_values.get("files")
        return Path(folder) if isinstance(folder, str) else None

    async def _selector(self, call: ActionCall, values: Mapping[str, Any]) -> Selector | None:
        """The target as a selector with its parameters filled. Raises `StepFailed`."""
        if call.target is None:
            return None
        selector = call.target if isinstance(call.target, Selector) else await self._element(call.target)
        if not selector.parameterized and not any(s.type == "dom_index" for s in selector.strategies):
            return selector
        return fill_selector_parameters(selector, {**values, **call.parameters})

    async def _element(self, target: str) -> Selector:
        session = self._session
        elements = await session.elements()
        if target not in elements and not looks_like_css(target):
            await session.look()
            elements = await session.elements()
        if target in elements:
            return elements[target].selector
        if looks_like_css(target):
            return css(target)
        raise StepFailed(
            f"no element {target!r} on {session.screen_id or 'this unknown screen'}",
            error="element_not_found",
        )

    async def _armed(self, trigger: ObservabilityTrigger | None, values: Mapping[str, Any]) -> Armed | None:
        if trigger is None:
            return None
        scope = await self._session.scope(values)
        return await arm(self._session.page, trigger, scope.element)


async def _await_trigger(armed: Armed | None, trigger: ObservabilityTrigger | None) -> None:
    if armed is None or trigger is None:
        return
    outcome = await armed.wait()
    if not outcome.fired and not outcome.fell_back and trigger.event in MUST_HAPPEN:
        raise StepFailed(
            f"{trigger.event} did not happen within {trigger.timeout:g} s", error="timeout", acted=True
        )


def _needs_care(element: UIElement, action: str) -> bool:
    """Whether the knowledge says that this destroys, or may not be done twice."""
    return any(
        affordance.destructive or affordance.idempotent is False
        for affordance in element.affordances
        if vocabulary.canonical(affordance.action_type) == action
    )


def _typed(value: Any) -> str | list[str] | None:
    """A value as it is put into a page: text, or several for a list of choices."""
    if value is None:
        return None
    return [as_text(item) for item in value] if isinstance(value, list | tuple) else as_text(value)
