"""Telling one segment: a conversation, a screen that is explained, a task that is carried out (KS 4.5, 6.3).

Which segment comes next is the player's business, what is said within a task the presenter's, what is shown
of a screen `explaining.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent.engine.engine import Engine
from agent.engine.inputs import MISSING, map_inputs, transformed
from agent.engine.workflows import run_work
from agent.errors import AgentError, NotInKnowledge
from agent.presenting.engagement import manner_of, says_that_it_worked
from agent.presenting.explaining import Explaining
from agent.presenting.presenter import Presenter
from agent.presenting.records import SegmentRecord
from agent.presenting.telling import Telling
from kb_schema.presentation import Segment
from kb_schema.runs import RunStatus
from kb_schema.values import IoSpec


class LeftOut(Exception):
    """The story goes on without a segment that it can spare: something it needs is not there."""


class Segments:
    """Tells segments on one session's page."""

    def __init__(self, telling: Telling) -> None:
        self._telling = telling
        self._session, self._stage = telling.session, telling.stage
        self._presenter = Presenter(telling)
        self.engine = Engine(self._session, self._presenter)
        self._explaining = Explaining(telling)
        self.language = "en"
        """What is spoken."""
        self.own_language = True
        """Whether that is the language the knowledge is written in: else its notes are left unsaid."""

    async def tell(self, segment: Segment, record: SegmentRecord, values: dict[str, Any]) -> None:
        """The segment, to its end. Raises `AgentError`, `PageError`, `LeftOut`, and `Detoured`: with
        `record.run` set where its task was finished first.
        """
        if self._stage is not None:
            await self._stage.chapter(record.title)
        match segment.type:
            case "conversational":
                await self._converse(segment, values)
            case "explanation":
                await self._explain(segment, values)
            case "task_execution":
                await self._demonstrate(segment, record, values)

    async def tell_again(self, segment: Segment, screen_id: str | None, values: dict[str, Any]) -> None:
        """What was done already and is not done twice: its words, where it ended. Raises as `tell` does."""
        if self._stage is not None:
            await self._stage.chapter(segment.title or segment.segment_id)
        if screen_id is not None:
            await self.engine.guide.go_to(screen_id)
        await self._hooks(segment, "before", values)
        await self._telling.say(segment.narration_template, values)
        await self._hooks(segment, "after", values)
        await self._telling.finished()

    async def _converse(self, segment: Segment, values: dict[str, Any]) -> None:
        await self._hooks(segment, "before", values)
        await self._telling.say(segment.narration_template, values)
        await self._hooks(segment, "during", values)
        await self._telling.finished()
        await self._hooks(segment, "after", values)

    async def _explain(self, segment: Segment, values: dict[str, Any]) -> None:
        await self._hooks(segment, "before", values)
        await self.engine.guide.go_to(segment.screen_id or "")
        await self._explaining.explain(segment, values, notes=self.own_language)
        await self._hooks(segment, "during", values)
        await self._telling.finished()
        await self._explaining.over(segment)
        await self._hooks(segment, "after", values)

    async def _demonstrate(self, segment: Segment, record: SegmentRecord, values: dict[str, Any]) -> None:
        inputs = await self._inputs(segment, values)
        values |= {**self._session.context.session, **inputs}  # persisted under another name, too
        await self._hooks(segment, "before", values)
        await self._telling.say(segment.narration_template or await self._why(segment), values)
        depth = segment.told_at
        self._presenter.begin(
            segment,
            values,
            manner=manner_of(segment, depth, notes=self.own_language),
            repeatable=self.engine.steps.repeatable,
        )
        try:
            result = await run_work(self.engine, segment.task_id or "", inputs)
        finally:
            self._presenter.end()
        record.run = result
        if not result.succeeded:
            if result.status is RunStatus.NEEDS_PERSON and segment.droppable:
                raise LeftOut(result.error or f"task {segment.task_id} needs a person")
            raise AgentError(result.error or f"task {segment.task_id} failed", hint=result.hint)
        values |= result.outputs
        await self._telling.finished()  # a detour that waited for the task's end is taken here
        await self._hooks(segment, "after", values)
        await self._telling.say(says_that_it_worked(segment, self.language), values)
        await self._telling.finished()

    async def _inputs(self, segment: Segment, values: Mapping[str, Any]) -> dict[str, Any]:
        """The segment's mapping as values (KS 9.2): what no source has is asked of the visitor; where nobody
        gives it, a segment that can be spared is left out.
        """
        context = self._session.context
        inputs = await map_inputs(segment.input_mapping, context, scrape=self.engine.scrape, built_ins=values)
        absent = [name for name in segment.input_mapping if name not in inputs]
        needed = await self._needed(segment.task_id or "") if absent else frozenset()
        for name in absent:
            rule, answer = segment.input_mapping[name], MISSING
            if "user_input" not in rule.source and context.asker is not None and name in needed:
                given = await context.asker.ask(name, rule.prompt or name.replace("_", " "), secret=False)
                answer = MISSING if given is None else transformed(name, given, rule.transforms)
            if answer is not MISSING:
                inputs[name] = answer
                if rule.persist_as:
                    context.session[rule.persist_as] = answer
            elif name in needed and segment.droppable:
                raise LeftOut(f"nobody gave {name!r}, which {segment.task_id} needs")
        return inputs

    async def _needed(self, task_id: str) -> frozenset[str]:
        """The inputs without which a task or workflow cannot be carried out."""
        io_spec: IoSpec
        try:
            io_spec = (await self._session.knowledge.task(task_id)).io_spec
        except NotInKnowledge:
            io_spec = (await self._session.knowledge.workflow(task_id)).io_spec
        return frozenset(spec.name for spec in io_spec.inputs if spec.required and spec.default is None)

    async def _why(self, segment: Segment) -> str:
        """What its task is for, where a rule asks for that and nothing is written."""
        asked = any(rule.rule == "say_why_first" for rule in segment.rules)
        written = any(hook.hook_type == "before" and hook.step_id is None for hook in segment.narrative_hooks)
        if not asked or written or not self.own_language:
            return ""
        try:
            task = await self._session.knowledge.task(segment.task_id or "")
        except NotInKnowledge:
            return ""
        return task.description.replace("{", "(").replace("}", ")")

    async def _hooks(self, segment: Segment, when: str, values: Mapping[str, Any]) -> None:
        """Hooks of a kind that are tied to no step, in order; nobody leaves while told what was done."""
        hooks = [h for h in segment.narrative_hooks if h.hook_type == when and h.step_id is None]
        for hook in hooks:
            await self._telling.say(hook.narration, values)
        if when == "after" and hooks:
            await self._telling.finished()
