"""The values of a task: its inputs before the first step, its outputs as soon as they can be read (KS 9.1, 10.2).

Which source a value comes from is decided in `input_resolution`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agent.errors import StepFailed
from agent.events import InputResolved
from agent.execution.call_templates import list_used_variables
from agent.execution.declared_types import convert_to_declared_type
from agent.execution.values.input_resolution import MISSING, refresh_inputs, resolve_inputs
from agent.execution.values.value_extraction import extract_value, list_extraction_selectors
from agent.run_context import is_meaningful
from kb_schema.io_specs import Extraction, ValueRule
from kb_schema.tasks import TaskStep

if TYPE_CHECKING:
    from agent.execution.execution_ports import TaskExecution
    from agent.execution.task_run import TaskRun


class TaskValues:
    """Resolves inputs and reads outputs for one task runner."""

    def __init__(self, engine: TaskExecution) -> None:
        self._engine = engine
        self._session = engine.session

    async def resolve(self, run: TaskRun, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the built-ins and every input of a task by name. `given`: values of the caller, which stay.

        Raises `InputMissing` and `PersonNeeded`.
        """
        session, task = self._session, run.task
        run.fixed = frozenset(given)
        for output in task.io_spec.outputs:
            if output.secret:
                await self._hide(output.extraction)
        built_ins = session.context.built_ins(
            website_id=session.website.website_id,
            base_url=session.base_url,
            screen_id=session.screen_id,
            url=session.page.url,
        )
        values = await resolve_inputs(
            task,
            given,
            session.context,
            scrape=self.scrape,
            tell=lambda name, source: session.bus.tell(InputResolved(task.task_id, name, source)),
            known=run.frame.values,
            built_ins=built_ins,
        )
        return {**built_ins, **values}

    async def refresh(self, run: TaskRun, step: TaskStep) -> None:
        """Resolve again the volatile inputs that a step is about to use (KS 9.12)."""
        names = list_used_variables(step.action, run.task)
        run.values |= await refresh_inputs(
            run.task, names, run.fixed, run.values, self._session.context, scrape=self.scrape
        )

    async def scrape(self, rule: ValueRule, values: Mapping[str, Any]) -> Any:
        """Read an input from the website: from the open page, or from its screen in a tab of its own."""
        if rule.extraction is None:
            return MISSING
        if getattr(rule, "secret", False):
            await self._hide(rule.extraction, rule.screen_id)
        if rule.screen_id is None or rule.screen_id == self._session.screen_id:
            return await self.read(rule.extraction, values)
        async with self._engine.in_spare_tab() as other:
            await other.guide.go_to(rule.screen_id, method="direct_url")
            return await other.read(rule.extraction, values)

    async def _hide(self, rule: Extraction, screen_id: str | None = None) -> None:
        """Leave places out of snapshots where a secret is going to be read."""
        session = self._session
        known = () if screen_id is None else (await session.knowledge.screen(screen_id)).ui_elements
        elements = {element.element_id: element.selector for element in known}
        session.secret_fields += [
            place for place in list_extraction_selectors(rule, elements) if place not in session.secret_fields
        ]

    async def read(self, rule: Extraction, values: Mapping[str, Any]) -> Any:
        """Return what a rule reads on the page now; `MISSING` if it finds nothing."""
        elements = {name: e.selector for name, e in (await self._session.elements()).items()}
        return await extract_value(
            rule, self._session.page, values, elements, redact=self._session.context.redact
        )

    async def read_outputs(self, run: TaskRun, after: str | None) -> None:
        """Read the outputs due after that step (None: at the end) and store them at once.

        Raises `StepFailed` if required ones are missing, after reading all that are there.
        """
        missing = []
        for output in run.task.io_spec.outputs:
            if output.after_step != after or is_meaningful(run.outputs.get(output.name)):
                continue  # a value that was read stays: the page may show something else now
            value = run.given.get(output.name, MISSING)
            if value is MISSING:
                value = await self.read(output.extraction, {**run.values, **run.outputs})
            if value is MISSING:
                if output.required and run.seen_elsewhere is None and output.name not in run.outputs:
                    missing.append(output.name)
                continue
            self._keep_output(run, output.name, convert_to_declared_type(output, value), secret=output.secret)
        run.missing_outputs.difference_update(run.outputs)
        if missing:
            run.missing_outputs.update(missing)
            names = ", ".join(map(repr, missing))
            raise StepFailed(
                f"output{'s' if len(missing) > 1 else ''} {names} not found on the page",
                error="extraction_failed",
                acted=True,
            )

    def _keep_output(self, run: TaskRun, name: str, value: Any, *, secret: bool) -> None:
        """Store an output in the run and its data; an empty value never replaces another one."""
        if secret:
            self._session.context.keep_secret(value)
        if not is_meaningful(value) and name in run.outputs:
            return
        run.outputs[name] = value
        run.values[name] = value
        if run.path is not None and self._session.context.redact(value) == value:
            run.ledger.keep(run.path, {name: value})
