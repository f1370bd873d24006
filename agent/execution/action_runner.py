"""Performs single action calls: the steps of an action document, or one action of the vocabulary.

Actions on the page go through `_act_on_page` to the healer (`agent.healing.healer`) and the page layer.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playwright.async_api import Error as PlaywrightError

from agent import retry_limits
from agent.errors import PersonNeeded, StepFailed, touched_the_page
from agent.execution.call_templates import COMPOSITE_ACTIONS, bind_call, fill_call, fill_conditions
from agent.execution.effects.person_answers import ask_until_done
from agent.execution.effects.pressed_questions import PressedQuestion, list_deeds
from agent.execution.effects.side_effects import SideEffects
from agent.execution.element_uses import find_element_use, find_recorded
from agent.execution.run_observer import RunObserver
from agent.execution.values.page_spellings import find_page_spellings
from agent.execution.values.secret_uses import check_secret_uses
from agent.healing.element_memory import StepTarget, build_selector_key
from agent.healing.element_wait import GLANCE_S
from agent.healing.healed_conditions import find_stored_element, list_css_references
from agent.healing.healer import Healer, IntendedElement
from agent.healing.identity_check import describe_element, take_sighting
from agent.healing.row_search import select_row_template
from agent.page.action_requests import ActionRequest
from agent.page.actionability_gate import ElementVanished, PassedElement, judge_element
from agent.page.armed_triggers import ArmedTrigger, arm_trigger
from agent.page.errors import GateFailed, GatePoint, PageError
from agent.page.live_selectors import (
    fill_selector_parameters,
    resolve_selector,
    summarize_selector,
)
from agent.page.page_actions import act_on_page
from agent.page.page_requests import watch_requests
from agent.page.page_tools import ACTION as PAGE_TOOL
from agent.page.page_tools import with_tool_inputs
from agent.run_records.action_reports import report_action
from agent.session import Session, elements_named
from kb_schema import action_types
from kb_schema.action_calls import ActionCall, ExecutionStep
from kb_schema.action_documents import Action
from kb_schema.conditions import BaseCondition
from kb_schema.execution_traces import CLOSES_OVERLAY
from kb_schema.probes import VerdictStatus
from kb_schema.screens import UIElement
from kb_schema.selectors import Selector, css, looks_like_css
from kb_schema.templates import as_text, fill_value
from kb_schema.url_patterns import resolve
from kb_schema.wait_triggers import ObservabilityTrigger

if TYPE_CHECKING:
    from agent.execution.execution_ports import TaskExecution

MUST_HAPPEN = frozenset({"element_visible", "element_hidden", "url_change"})
"""Events whose absence is a failure. The absence of the other events is not: the postconditions decide."""

_LEAVING = frozenset({"navigate", "navigate_back", "refresh"})
_ENTERING_NOTHING = _LEAVING | {"hover", "focus", "scroll", "scroll_to_element", "get_screen_content"}


class ActionRunner:
    """Performs calls on the session's page for one task runner."""

    def __init__(self, session: Session, engine: TaskExecution, observer: RunObserver) -> None:
        self._session, self._engine, self._observer = session, engine, observer
        self._expecting: tuple[BaseCondition, ...] = ()
        self._asides = SideEffects(session)
        self.tried_fallbacks: list[ActionCall] = []
        """Fallback actions that were tried since the list was last emptied."""
        self.replaced = ""
        """Which fallback action did the last call, and why its own action did not; empty if its own did."""

    def expect(self, conditions: tuple[BaseCondition, ...], target: StepTarget | None = None) -> None:
        """Begin a step: `conditions` are its postconditions, `target` what it names by its own selector."""
        self._expecting = conditions
        self._asides.agreed.clear()
        self._session.memory.begin(target)

    async def settle(self, held: bool | None) -> None:
        """End the step. `held`: whether its postconditions held, None if it has none; decides what is stored of elements."""
        self._expecting = ()
        await self._session.memory.settle(held, self._session.bus.tell)
        await self._asides.settle(unseen=held is None)

    @property
    def agreed(self) -> Sequence[str]:
        """The questions of the page that were agreed to in this step, as the person allowed."""
        return self._asides.agreed

    async def perform(self, call: ActionCall, values: Mapping[str, Any]) -> None:
        """Perform the call; if it fails without touching the page, its fallback actions in order.

        Raises `StepFailed`, `PersonNeeded`, or a `PageError`.
        """
        candidates, own = (call, *call.fallback_actions), ""
        self.replaced = ""
        for number, candidate in enumerate(candidates, start=1):
            self.tried_fallbacks += candidates[number - 1 : number] if number > 1 else ()
            try:
                await self._perform_one(candidate, values)
            except (PageError, StepFailed) as exc:
                if number == len(candidates) or touched_the_page(exc):
                    raise
                own = own or str(exc)
            else:
                if own:
                    self.replaced = (
                        f"fallback action {number - 1} was done because the step's own action failed: {own}"
                    )
                return

    async def _perform_one(self, call: ActionCall, values: Mapping[str, Any]) -> None:
        check_secret_uses(call, values, self._session.context.redact)
        filled = fill_call(call, values)
        document = await self._session.knowledge.action(filled.action_type)
        if filled.canonical_type not in COMPOSITE_ACTIONS:
            self._asides.expect(filled, await self._expect_question(filled))
        try:
            async with self._watching(filled.observability_trigger, values):
                if document is not None and document.execution_steps:
                    await self._perform_document(document, filled, call, values)
                else:
                    await self._perform_primitive(filled, values)
        except (PageError, StepFailed):
            await self._asides.settle()  # a refused dialog or tab explains more than the error
            raise
        got: dict[str, Any] = {}
        await self._asides.follow(filled, got)
        await self._asides.settle()
        if isinstance(values, dict):
            values.update(got)

    async def _expect_question(self, call: ActionCall) -> PressedQuestion | None:
        """Return what the page may ask of a press of a control that does harm, if the call does not say how to answer."""
        if call.on_dialog is not None or call.canonical_type != "click" or not isinstance(call.target, str):
            return None
        element = (await self._session.elements()).get(call.target)
        deeds = list_deeds(element)
        if element is None or deeds is None:
            return None
        return PressedQuestion(deeds, self._session.context.allowed, element.label or "")

    @asynccontextmanager
    async def _watching(
        self, trigger: ObservabilityTrigger | None, values: Mapping[str, Any]
    ) -> AsyncIterator[None]:
        """Arm a trigger before the body and wait for it afterwards; disarm it if the body fails."""
        armed = await self._arm(trigger, values)
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
        """Perform an action document's steps (KS 4.2). Each wait is armed before the step that causes its event."""
        bound = {**values, **call.parameters, **bind_call(document, call, authored)}
        for name, parameter in document.parameters.items():
            if parameter.secret:
                self._session.context.keep_secret(bound.get(name))
        await self._require(document.preconditions, bound, f"action {document.action_id!r}")
        steps = sorted(document.execution_steps, key=lambda step: step.step)
        touched = False
        index = 0
        while index < len(steps):
            check_secret_uses(steps[index], bound, self._session.context.redact)
            step = fill_call(steps[index], bound)
            following = steps[index + 1] if index + 1 < len(steps) else None
            index += 1
            if not await self._is_applicable(steps[index - 1], bound):
                continue
            if step.canonical_type == "wait_for":
                await _await_trigger(
                    await self._arm(step.observability_trigger, bound), step.observability_trigger
                )
                continue
            waits = None
            if following is not None and following.canonical_type == "wait_for":
                waits = fill_call(following, bound).observability_trigger
                index += 1
            try:
                async with self._watching(waits, bound), self._watching(step.observability_trigger, bound):
                    await self._perform_primitive(step, bound)
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

    async def list_preconditions(
        self, call: ActionCall, values: Mapping[str, Any]
    ) -> tuple[tuple[BaseCondition, ...], Mapping[str, Any]]:
        """Return the preconditions of the call's action document, filled, and the values by which they are judged.

        None where a value is still missing: the action says so.
        """
        document = await self._session.knowledge.action(call.action_type)
        if document is None or not document.preconditions:
            return (), values
        try:
            filled = fill_call(call, values)
            bound = {**values, **filled.parameters, **bind_call(document, filled, call)}
            return fill_conditions(document.preconditions, bound), bound
        except StepFailed:
            return (), values

    async def _require(
        self, conditions: tuple[BaseCondition, ...], values: Mapping[str, Any], what: str
    ) -> None:
        filled = fill_conditions(conditions, values)
        patience = 3.0  # an action's preconditions are often about elements that are still appearing
        verdicts = await self._session.judge_until_held(filled, values, timeout_s=patience, recent=True)
        if not all(verdict.held for verdict in verdicts) and await self.find_again(filled):
            verdicts = await self._session.judge(filled, values)
        for condition, verdict in zip(filled, verdicts, strict=True):
            now = verdict
            if not now.held and not condition.hard_dependency and condition.auto_remediate:
                now = await self._engine.steps.remedy(condition, values, self._engine.depth)
            if not now.held and (condition.hard_dependency or condition.auto_remediate):
                raise StepFailed(
                    f"{what}: precondition {condition.type}: {now.evidence}", error=condition.type
                )

    async def find_again(self, conditions: Sequence[BaseCondition]) -> bool:
        """Search for elements of conditions whose selectors no longer match; return whether any was found.

        Conditions are then evaluated on the element that was found.
        """
        session, found = self._session, False
        names = frozenset[str]().union(*map(elements_named, conditions))
        elements = await session.elements()
        for name in sorted(names & elements.keys()):
            if elements[name].selector.parameterized:
                continue
            if (await resolve_selector(session.page, elements[name].selector)).resolved:
                continue
            selector = await self._locate_again(name, elements)
            if selector is not None:
                session.memory.stands_for((session.screen_id or "", name), selector)
                found = True
        for text in sorted(list_css_references(conditions)):
            found = await self._find_css_again(text, elements) or found
        return found

    async def is_recorded_element_here(self, call: ActionCall, values: Mapping[str, Any]) -> bool:
        """Whether the selector of a call leads to the element that was recorded for it, in like surroundings.

        The element is only looked at. False if nothing was recorded of it.
        """
        call = fill_call(call, values)
        selector = await self._selector(call, values)
        recorded = None if selector is None else find_recorded(self._session, call, selector)
        if selector is None or recorded is None:
            return False
        page = self._session.page
        try:
            judged = await judge_element(page, selector, timeout_s=GLANCE_S, keep=True)
            gated = await PassedElement(page, judged).gated()
        except (GateFailed, ElementVanished):
            return False
        seen = await take_sighting(page, gated.element)
        return seen is not None and recorded.is_here(seen.fingerprint)

    async def is_recorded_element_elsewhere(self, call: ActionCall, values: Mapping[str, Any]) -> bool:
        """Whether another selector than the call's leads to the element that was recorded for it, in like surroundings.

        The page is only looked at. False if nothing was recorded of it, and for an element that values select.
        """
        filled = fill_call(call, values)
        selector = await self._selector(filled, values)
        recorded = None if selector is None else find_recorded(self._session, filled, selector)
        if selector is None or recorded is None or recorded.varies or recorded.whichever:
            return False
        meant = IntendedElement(
            summarize_selector(selector), selector, recorded.fingerprint, recorded=recorded
        )
        found = await self._healer().locate(meant)
        if found is None:
            return False
        return await self.is_recorded_element_here(filled.model_copy(update={"target": found}), values)

    async def _locate_again(self, name: str, elements: Mapping[str, UIElement]) -> Selector | None:
        """Return the current selector of an element of the screen; None if that is not certain."""
        memory, screen_id = self._session.memory, self._session.screen_id or ""
        known = memory.known(screen_id, elements[name])
        if known is None:
            return None
        others = memory.others(screen_id, elements, name)
        return await self._healer().locate(
            IntendedElement(f"{screen_id}.{name}", elements[name].selector, known, others)
        )

    async def _find_css_again(self, text: str, elements: Mapping[str, UIElement]) -> bool:
        """Find the element that a condition names by CSS, if a fingerprint of it exists; return whether it was found."""
        session, written = self._session, css(text)
        key = build_selector_key(written, session.page.url)
        if key is None or (await resolve_selector(session.page, written)).count:
            return False
        screen_id, known = session.screen_id or "", session.memory.known_unlisted(key)
        prints = {each: session.memory.known(screen_id, elements[each]) for each in elements}
        name, selector = find_stored_element(text, elements, prints), None
        if name is not None:
            selector = session.memory.healed((screen_id, name))
            selector = selector or await self._locate_again(name, elements)
        elif known is not None:
            selector = await self._healer().locate(
                IntendedElement(summarize_selector(written), written, known)
            )
        if selector is None:
            return False
        session.memory.stands_for(key, selector)
        return True

    def _healer(self) -> Healer:
        session = self._session
        policy = session.healing.while_dismissing if self._engine.dismissing else session.healing
        return Healer(
            session.page,
            session.bus.tell,
            policy=policy,
            decider=session.decider,
            dismiss=self._engine.dismiss_overlays,
            wait=None if self._engine.dismissing else session.element_wait,
        )

    async def _is_applicable(self, step: ExecutionStep, values: Mapping[str, Any]) -> bool:
        if step.condition is None:
            return True
        if isinstance(step.condition, str):
            value = fill_value(step.condition, {**values})
            return value not in (None, "", False, "false", "False", 0)
        (condition,) = fill_conditions((step.condition,), values)
        (verdict,) = await self._session.judge([condition], values)
        if verdict.status is VerdictStatus.UNKNOWN:
            raise StepFailed(
                f"whether step {step.step} applies could not be evaluated: {verdict.evidence}",
                error="condition_unknown",
            )
        return verdict.held

    # -- one action of the vocabulary --------------------------------------------------------------

    async def _perform_primitive(self, call: ActionCall, values: Mapping[str, Any]) -> None:
        match call.canonical_type:
            case "navigate" if call.target_screen is not None:
                allowed = max((each.timeout or 0.0 for each in self._expecting), default=0.0)
                await self._engine.guide.go_to(
                    call.target_screen, method=call.method, url=call.url, patience_s=allowed
                )
            case "wait":
                await self._wait(call, values)
            case "wait_for" if call.observability_trigger is not None:
                await _await_trigger(
                    await self._arm(call.observability_trigger, values), call.observability_trigger
                )
            case "run_task" if call.task_id is not None:
                await self._engine.sub_task(call.task_id, call.inputs, self._engine.depth)
            case "close_tab":
                await self._asides.close_tab()
            case "no_op" | "wait_for":
                return
            case name if action_types.canonical(name) is None:
                raise StepFailed(f"no action {call.action_type!r}", error="unknown_action")
            case name:
                await self._act_on_page(name, self._with_inputs(name, call), values)

    async def _wait(self, call: ActionCall, values: Mapping[str, Any]) -> None:
        """Make an authored pause, or wait for a person (MA `wait(True)`)."""
        if call.duration is None and isinstance(call.value, int | float) and call.value is not True:
            await asyncio.sleep(min(float(call.value), 60.0))
        elif call.duration is not None:
            await asyncio.sleep(call.duration)
        else:
            await self._wait_for_person(call, values)

    async def _wait_for_person(self, call: ActionCall, values: Mapping[str, Any]) -> None:
        """Ask a person to act, and go on with the answer; the trace has a boundary there. Raises `PersonNeeded`."""
        session = self._session
        async with report_action(session, "wait", call, None, secret=False, boundary=True):
            told = as_text(fill_value(call.narration or "Do what the page asks for", {**values}))
            if not await ask_until_done(session.context, told):
                raise PersonNeeded("the task waits for a person here", hint=call.narration)

    async def _act_on_page(self, name: str, call: ActionCall, values: Mapping[str, Any]) -> None:
        """Act on the page; once more after an overlay that the website's knowledge lists was closed."""
        watch_requests(self._session.page)  # a loop may follow, also in a tab that was opened later
        selector = await self._selector(call, values)
        await self._observer.before_action(call, selector)
        await self._cover_secret(call, selector)
        entries = self._session.entries
        if name in _LEAVING:
            entries.check_may_leave()
        enters = name not in _ENTERING_NOTHING and not self._engine.dismissing
        async with report_action(self._session, name, call, selector, secret=self._is_secret(call)) as report:
            if self._engine.dismissing:
                report.metadata[CLOSES_OVERLAY] = True
            request = self._request(name, call)
            if enters:
                entries.note(self._session.page)
            for attempt in range(1, retry_limits.OVERLAY_ATTEMPTS + 1):
                try:
                    if selector is None:
                        report.value = (await act_on_page(self._session.page, request)).content
                        return
                    use = await find_element_use(self._session, name, call, selector, values, self._expecting)
                    meant = replace(use.meant, traced=self._session.bus.pages)
                    done = await self._healer().act(meant, request)
                    report.metadata.update(describe_element(done.checked.fingerprint))
                    report.value = done.performed.content
                except GateFailed as exc:
                    if attempt == retry_limits.OVERLAY_ATTEMPTS:
                        raise
                    if exc.point is GatePoint.NOT_FOUND and (spelled := await self._respelled(call, values)):
                        call, selector = spelled, await self._selector(spelled, values)
                    elif exc.point is not GatePoint.NOT_SCOPED or not await self._engine.dismiss_overlays():
                        raise
                else:
                    if use.key is not None:
                        self._session.memory.used(
                            use.key,
                            done,
                            use.url,
                            parameterized=use.parameterized,
                            values=call.parameters,
                            cached=use.cached,
                            written=use.written,
                        )
                    if name == "fill":
                        watch_requests(self._session.page).note_typing()
                    return

    async def _cover_secret(self, call: ActionCall, selector: Selector | None) -> None:
        """Note the field that gets a secret, and cover it in screenshots and video."""
        session = self._session
        secret = self._is_secret(call)
        if secret and selector is not None:
            session.secret_fields.append(selector)
        if session.veil is not None:
            await session.veil.draw(selector if secret else None)

    def _with_inputs(self, name: str, call: ActionCall) -> ActionCall:
        """Return the call of a page's tool with its inputs in its value. Raises `StepFailed` for secret ones."""
        if name != PAGE_TOOL:
            return call
        call = with_tool_inputs(call)
        if self._is_secret(call):
            raise StepFailed("a page's tool gets no secrets: they are typed into fields", error="bad_value")
        return call

    def _is_secret(self, call: ActionCall) -> bool:
        return call.value is not None and self._session.context.redact(call.value) != call.value

    def _request(self, name: str, call: ActionCall) -> ActionRequest:
        """Build the request to the page layer; the healer adds the selector and the identity check."""
        session, url = self._session, None
        if call.url is not None:
            url = resolve(call.url, authored_base=session.website.base_url, base=session.base_url)
        return ActionRequest(
            name,
            value=self._value(name, call),
            url=url,
            pace=self._observer.pace(call, session.pace),
            timeout_s=session.healing.first_gate_s(session.element_wait),
            allowed_origins=session.allowed_origins,
            secret=action_types.ACTION_TYPES[name].types_text and self._is_secret(call),
            secret_fields_only=session.secret_fields_only,
            keep_secret=session.context.keep_secret,
            modifiers=call.modifiers,
            drop=call.drop,
            place=call.place,
            look_before=None if self._asides.question is None else self._asides.question.look,
        )

    def _value(self, name: str, call: ActionCall) -> str | list[str] | None:
        """Return the value for the page. A file name without a folder is one of the sample
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
        """Return the target as a selector with its parameters filled. Raises `StepFailed`."""
        if call.target is None:
            return None
        selector = call.target if isinstance(call.target, Selector) else await self._element(call.target)
        if not selector.parameterized and not any(s.type == "dom_index" for s in selector.strategies):
            return selector
        return fill_selector_parameters(selector, {**values, **call.parameters})

    async def _respelled(self, call: ActionCall, values: Mapping[str, Any]) -> ActionCall | None:
        """Return the call with its target's values as the page writes them; None if it writes none of them otherwise.

        The name of a row has to be told as it is: records may differ by capital letters alone.
        """
        if not isinstance(call.target, Selector) or select_row_template(call.target) is not None:
            return None
        told = {**values, **call.parameters}
        spellings = find_page_spellings(await self._session.snapshot(), call.target, told)
        return call.model_copy(update={"parameters": {**call.parameters, **spellings}}) if spellings else None

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

    async def _arm(
        self, trigger: ObservabilityTrigger | None, values: Mapping[str, Any]
    ) -> ArmedTrigger | None:
        if trigger is None:
            return None
        scope = await self._session.scope(values)
        return await arm_trigger(self._session.page, trigger, scope.element)


async def _await_trigger(armed: ArmedTrigger | None, trigger: ObservabilityTrigger | None) -> None:
    if armed is None or trigger is None:
        return
    outcome = await armed.wait()
    if not outcome.fired and not outcome.fell_back and trigger.event in MUST_HAPPEN:
        raise StepFailed(
            f"{trigger.event} did not happen within {trigger.timeout:g} s", error="timeout", acted=True
        )


def _typed(value: Any) -> str | list[str] | None:
    """Return a value as text, or as several texts for a list of choices."""
    if value is None:
        return None
    return [as_text(item) for item in value] if isinstance(value, list | tuple) else as_text(value)
