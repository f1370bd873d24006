"""Plays one segment: a conversation, the explanation of a screen, or a task (KS 4.5, 6.3).

The flow player selects the segments, `presenter` narrates tasks, and `screen_explainer` explains screens.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent.errors import AgentError, UnknownToKnowledge
from agent.execution.task_runner import TaskRunner
from agent.execution.values.input_resolution import MISSING, map_inputs, transform_value
from agent.execution.workflow_runner import run_task_or_workflow
from agent.presentation.engagement_monitor import choose_narration_style, render_success_sentence
from agent.presentation.narration.interruptible_narrator import InterruptibleNarrator
from agent.presentation.presentation_records import SegmentRecord
from agent.presentation.presenter import Presenter
from agent.presentation.screen_explainer import ScreenExplainer
from kb_schema.io_specs import IoSpec
from kb_schema.presentation_flows import Segment
from kb_schema.run_records import RunStatus


class SegmentLeftOut(Exception):
    """Raised to skip an optional segment that lacks something it needs."""


class SegmentPlayer:
    """Plays segments on one session's page."""

    def __init__(self, narration: InterruptibleNarrator) -> None:
        self._narration = narration
        self._session, self._overlay = narration.session, narration.overlay
        self._presenter = Presenter(narration)
        self.engine = TaskRunner(self._session, self._presenter)
        self._explainer = ScreenExplainer(narration)
        self.language = "en"
        """Language of the speech."""
        self.own_language = True
        """Whether that is the language of the knowledge base; otherwise its notes are not spoken."""

    async def play(self, segment: Segment, record: SegmentRecord, values: dict[str, Any]) -> None:
        """Play the segment to its end.

        Raises `AgentError`, `PageError`, `SegmentLeftOut` and `DetourRequested`; with the last one,
        `record.run` is set if the task was finished first.
        """
        if self._overlay is not None:
            await self._overlay.chapter(record.title)
        match segment.type:
            case "conversational":
                await self._converse(segment, values)
            case "explanation":
                await self._explain(segment, values)
            case "task_execution":
                await self._demonstrate(segment, record, values)

    async def repeat(self, segment: Segment, screen_id: str | None, values: dict[str, Any]) -> None:
        """Repeat the narration of a segment without running its task again, on the screen where it ended.
        Raises as `play` does.
        """
        if self._overlay is not None:
            await self._overlay.chapter(segment.title or segment.segment_id)
        if screen_id is not None:
            await self.engine.guide.go_to(screen_id)
        await self._play_hooks(segment, "before", values)
        await self._narration.say(segment.narration_template, values)
        await self._play_hooks(segment, "after", values)
        await self._narration.finished()

    async def _converse(self, segment: Segment, values: dict[str, Any]) -> None:
        await self._play_hooks(segment, "before", values)
        await self._narration.say(segment.narration_template, values)
        await self._play_hooks(segment, "during", values)
        await self._narration.finished()
        await self._play_hooks(segment, "after", values)

    async def _explain(self, segment: Segment, values: dict[str, Any]) -> None:
        await self._play_hooks(segment, "before", values)
        await self.engine.guide.go_to(segment.screen_id or "")
        await self._explainer.explain(segment, values, notes=self.own_language)
        await self._play_hooks(segment, "during", values)
        await self._narration.finished()
        await self._explainer.end(segment)
        await self._play_hooks(segment, "after", values)

    async def _demonstrate(self, segment: Segment, record: SegmentRecord, values: dict[str, Any]) -> None:
        inputs = await self._resolve_inputs(segment, values)
        values |= {**self._session.context.session, **inputs}  # also values persisted under another name
        await self._play_hooks(segment, "before", values)
        await self._narration.say(segment.narration_template or await self._describe_purpose(segment), values)
        depth = segment.authored_depth
        self._presenter.begin(
            segment,
            values,
            style=choose_narration_style(segment, depth, notes=self.own_language),
            repeatable=self.engine.steps.repeatable,
        )
        try:
            result = await run_task_or_workflow(self.engine, segment.task_id or "", inputs)
        finally:
            self._presenter.end()
        record.run = result
        if not result.complete:
            if result.status is RunStatus.NEEDS_PERSON and segment.droppable:
                raise SegmentLeftOut(result.error or f"task {segment.task_id} needs a person")
            raise AgentError(result.error or f"task {segment.task_id} failed", hint=result.hint)
        values |= result.outputs
        await self._narration.finished()  # a delayed detour is raised here
        await self._play_hooks(segment, "after", values)
        await self._narration.say(render_success_sentence(segment, self.language), values)
        await self._narration.finished()

    async def _resolve_inputs(self, segment: Segment, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the segment's inputs (KS 9.2). The visitor is asked for values that no source has; an
        optional segment without a required value is skipped.
        """
        context = self._session.context
        if not segment.input_mapping:
            return {}
        specs = (await self._find_io_spec(segment.task_id or "")).inputs
        inputs = await map_inputs(
            segment.input_mapping, context, scrape=self.engine.scrape, built_ins=values, inputs=specs
        )
        absent = [name for name in segment.input_mapping if name not in inputs]
        needed = {
            spec.name
            for spec in specs
            if spec.required and spec.default is None and not (spec.always_fresh and spec.source)
        }
        for name in absent:
            rule, answer = segment.input_mapping[name], MISSING
            if "user_input" not in rule.source and context.asker is not None and name in needed:
                given = await context.asker.ask(name, rule.prompt or name.replace("_", " "), secret=False)
                answer = MISSING if given is None else transform_value(name, given, rule.transforms)
            if answer is not MISSING:
                inputs[name] = answer
                if rule.persist_as:
                    context.session[rule.persist_as] = answer
            elif name in needed and segment.droppable:
                raise SegmentLeftOut(f"no value for {name!r}, which {segment.task_id} needs")
        return inputs

    async def _find_io_spec(self, task_id: str) -> IoSpec:
        """Return the inputs and outputs of a task or workflow."""
        try:
            return (await self._session.knowledge.task(task_id)).io_spec
        except UnknownToKnowledge:
            return (await self._session.knowledge.workflow(task_id)).io_spec

    async def _describe_purpose(self, segment: Segment) -> str:
        """Return the task's description if a rule asks for the purpose and the author wrote none."""
        asked = any(rule.rule == "say_why_first" for rule in segment.rules)
        written = any(hook.hook_type == "before" and hook.step_id is None for hook in segment.narrative_hooks)
        if not asked or written or not self.own_language:
            return ""
        try:
            task = await self._session.knowledge.task(segment.task_id or "")
        except UnknownToKnowledge:
            return ""
        return task.description.replace("{", "(").replace("}", ")")

    async def _play_hooks(self, segment: Segment, when: str, values: Mapping[str, Any]) -> None:
        """Play the hooks of a kind that belong to no step, in order. Hooks after a task are played to their
        end.
        """
        hooks = [h for h in segment.narrative_hooks if h.hook_type == when and h.step_id is None]
        for hook in hooks:
            await self._narration.say(hook.narration, values)
        if when == "after" and hooks:
            await self._narration.finished()
