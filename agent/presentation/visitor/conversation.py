"""The conversation with one visitor: every request is parsed, reported, and fulfilled or declined.

This module only selects a detour (`Detour`); the player carries it out.
"""

from __future__ import annotations

import logging
import re
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from agent.errors import AgentError
from agent.events import Event
from agent.inferencer import Inferencer
from agent.presentation.engagement_monitor import VISITOR_NAME
from agent.presentation.presentation_records import (
    Answered,
    Declined,
    Interested,
    Narrated,
    SegmentStarted,
    Understood,
    VisitorIntroduced,
)
from agent.presentation.turn_manager import Detour, Heard, TurnManager
from agent.presentation.visitor.demo_targets import DemoTarget, DemoTargetFinder
from agent.presentation.visitor.languages import list_languages
from agent.presentation.visitor.languages import load_language as known_language
from agent.presentation.visitor.multilingual_answers import (
    MultilingualAnswerer,
    ReadFigures,
    parse_in_any_language,
)
from agent.presentation.visitor.request_parser import asks_for_name
from agent.presentation.visitor.visitor_interests import VisitorInterests
from agent.presentation.visitor.visitor_requests import RequestKind, VisitorRequest
from agent.presentation.visitor.visitor_tasks import VisitorTasks, describe_values
from agent.sentences.sentence_binding import BoundTask
from agent.session import Session
from kb_schema.flow_translations import translate_flow
from kb_schema.presentation_flows import PresentationFlow


@dataclass(frozen=True, slots=True)
class HostPolicy:
    """How long the host waits, in seconds, and the size of a pace step."""

    follow_up_s: float = 4.0
    """After an answer, for another question, before the flow continues."""
    question_s: float = 20.0
    """For the question that a visitor announced."""
    choice_s: float = 8.0
    """For the choice between two targets."""
    pause_s: float = 180.0
    """For the end of a pause, before the host asks whether to continue; then once more."""
    pace_step: float = 1.25
    """`slower` divides the pace by it, `faster` multiplies the pace by it."""


LOG = logging.getLogger(__name__)
INTERRUPTS = frozenset(
    {RequestKind.QUESTION, RequestKind.UNKNOWN, RequestKind.ATTENTION, RequestKind.HELP, RequestKind.SHOW}
)
"""Requests after which the flow's fallback path for interruptions applies."""
_LEAD = re.compile(r"\b(and|und|or|oder)\b[\s,]*$", re.IGNORECASE)
LAST_WORDS = 3
"""Number of the visitor's sentences for which a question stays open."""


class HeardUtterance(Protocol):
    """An utterance, as far as it was heard."""

    @property
    def text(self) -> str:
        """The words."""

    @property
    def start_s(self) -> float:
        """Seconds of the presentation."""


class SpeechOutput(Protocol):
    """The speech output a host uses (`agent.presentation.narration.narrator.Narrator`)."""

    pace: float

    @property
    def spoken(self) -> list[Any]:
        """All utterances in order (`HeardUtterance`)."""

    async def say(self, text: str) -> HeardUtterance | None:
        """Start an utterance; None if there is nothing to say, or speech was stopped."""

    async def finished(self) -> None:
        """Return when the speech has ended."""


class Conversation:
    """The host of one presentation (`agent.presentation.turn_manager.VisitorHost`)."""

    def __init__(
        self,
        session: Session,
        narrator: SpeechOutput,
        turns: TurnManager,
        flow: PresentationFlow,
        *,
        language: str | None = None,
        inferencer: Inferencer | None = None,
        manners: HostPolicy | None = None,
        caption: Callable[[str], Awaitable[None]] | None = None,
        figures: ReadFigures | None = None,
    ) -> None:
        """`language`: of the presentation; None: the flow's own. `inferencer` words answers, which are then
        checked against the retrieved passages; None: passages are quoted. `caption` shows the recognised
        request. `figures` reads the numbers on the page, which are answers, too.
        """
        self._session, self._narrator, self._turns = session, narrator, turns
        spoken = (language or flow.language).split("-")[0].casefold()
        self._language = known_language(spoken if spoken in list_languages() else "en")
        written, authored = flow, flow.language
        self._flow = flow = translate_flow(flow, language)
        self._manners, self._caption = manners or HostPolicy(), caption
        self._places = DemoTargetFinder(session, flow, self._language, authored=authored)
        self._answers = MultilingualAnswerer(session, written, flow, self._language, inferencer, figures)
        self._tasks = VisitorTasks(session, flow)
        self._interests = VisitorInterests(session.context, flow)
        self._segment: str | None = None
        self._seen: list[str] = []
        self._story: deque[str] = deque(maxlen=LAST_WORDS)
        self._asked = ""
        """The question before, which a follow-up is about."""
        self._phrase_count = 0
        self._talking = False
        session.bus.listen(self._follow)
        self._does: Mapping[RequestKind, Callable[[VisitorRequest], Awaitable[Detour | None]]] = {
            RequestKind.BACK: self._back,
            RequestKind.SKIP: self._skip,
            RequestKind.SHOW: self._show,
            RequestKind.JUMP: self._jump,
            RequestKind.REPLAY: self._replay,
            RequestKind.RESTART: self._restart,
            RequestKind.REPEAT: self._repeat,
            RequestKind.SLOWER: self._slower,
            RequestKind.FASTER: self._faster,
            RequestKind.USUAL: self._usual,
            RequestKind.PAUSE: self._pause,
            RequestKind.GO_ON: self._go_on,
            RequestKind.STOP: self._stop,
            RequestKind.INTRODUCE: self._introduce,
            RequestKind.YES: self._nothing,
            RequestKind.NO: self._nothing,
            RequestKind.GREET: self._answer_shortly,
            RequestKind.THANKS: self._answer_shortly,
            RequestKind.ATTENTION: self._attention,
            RequestKind.HELP: self._help,
            RequestKind.INTEREST: self._interest,
            RequestKind.NO_INTEREST: self._interest,
            RequestKind.IDENTITY: self._identity,
            RequestKind.QUESTION: self._question,
            RequestKind.UNKNOWN: self._unknown,
        }

    async def attend(self, heard: Heard) -> Detour | None:
        """Handle a request and any follow-up requests; None: the flow continues."""
        self._talking = True
        try:
            wanted = await self._tasks.find(heard.text)
            if wanted is not None:
                return await self._offer_run(heard, wanted)
            request = await self._understood(heard)
            detour = await self._do(request)
            return detour if detour is not None else await self._as_the_flow_says(request)
        except AgentError as exc:  # an error of the knowledge server must not end the presentation
            LOG.warning("could not handle a visitor's request: %s", self._session.context.redact(str(exc)))
            self._tell(Declined(heard.text, "no_answer"))
            await self._say("declined")
            return None
        finally:
            self._talking = False

    async def _do(self, request: VisitorRequest) -> Detour | None:
        detour = await self._does[request.kind](request)
        if detour is not None or request.then is None:
            return detour
        await self._show_caption(request.then)
        return await self._do(request.then)

    async def _as_the_flow_says(self, request: VisitorRequest) -> Detour | None:
        """Return the detour that the flow prescribes after an interruption was answered."""
        rule = self._flow.fallback("user_interrupts", self._segment)
        if rule is None or request.kind not in INTERRUPTS:
            return None
        if rule.action == "stop":
            return await self._stop(request)
        return Detour("skip") if rule.action == "skip" else None

    async def _understood(self, heard: Heard) -> VisitorRequest:
        request = parse_in_any_language(
            heard.text,
            self._language.language,
            presenter=self._flow.presenter,
            name_asked=any(asks_for_name(text, self._language.language) for text in self._story),
        )
        await self._show_caption(request)
        return request

    async def _show_caption(self, request: VisitorRequest) -> None:
        """Show the recognised request as a caption until the next words."""
        told = self._render_caption(request)
        self._tell(Understood(request.kind.value, request.text, told))
        if self._caption is not None:
            await self._caption(str(self._session.context.redact(told)))

    def _render_caption(self, request: VisitorRequest) -> str:
        template = self._language.told[request.kind]
        return template.format(topic=request.topic, name=request.name)

    # -- detours ---------------------------------------------------------------------------------

    async def _back(self, _request: VisitorRequest) -> Detour | None:
        if len(self._seen) < 2:
            await self._say("no_back")
            return None
        await self._say("back")
        return Detour("back")

    async def _skip(self, _request: VisitorRequest) -> Detour | None:
        await self._say("skip")
        return Detour("skip")

    async def _stop(self, _request: VisitorRequest) -> Detour | None:
        name = self._session.context.session.get(VISITOR_NAME)
        await self._say("stop_named" if name else "stop", name=str(name or ""))
        await self._narrator.finished()
        return Detour("stop")

    async def _replay(self, _request: VisitorRequest) -> Detour | None:
        return await self._to_segment(self._segment, "replay")

    async def _restart(self, _request: VisitorRequest) -> Detour | None:
        return await self._to_segment(self._flow.ordered_segments[0].segment_id, "restart")

    async def _to_segment(self, segment_id: str | None, reply: str) -> Detour | None:
        if segment_id is None:
            await self._say("no_back")
            return None
        await self._say(reply)
        return Detour("segment", segment_id=segment_id)

    async def _show(self, request: VisitorRequest) -> Detour | None:
        place = await self._place(request)
        if place is None:
            return None
        if place.segment_id is not None and place.segment_id == self._segment:
            return await self._replay(request)
        await self._say("show" if place.doable else "explain_instead", place=place.name)
        return place.aside()

    async def _jump(self, request: VisitorRequest) -> Detour | None:
        place = await self._place(request)
        if place is None:
            return None
        await self._say("jump" if place.doable else "explain_instead", place=place.name)
        if place.segment_id is not None:
            return Detour("segment", segment_id=place.segment_id)
        return place.aside()

    async def _place(self, request: VisitorRequest) -> DemoTarget | None:
        """Return the target that is meant. Ask if there are two candidates, and say so if there is none."""
        found = await self._places.find(request.topic)
        if not found:
            self._tell(Declined(request.text, "nothing_to_show"))
            self._session.context.personal.keep(request.topic)  # the visitor's own word for it
            await self._say("not_found", topic=request.topic)
            await self._say_if_noted()
            return None
        place = found[0]
        if len(found) > 1:
            await self._say("which", first=found[0].name, second=found[1].name)
            place = await self._chosen(found)
        self._interested(place.name)
        return place

    async def _chosen(self, found: list[DemoTarget]) -> DemoTarget:
        """Return the target that the visitor names; the first one without an answer."""
        await self._narrator.finished()
        heard = await self._turns.listen(self._manners.choice_s)
        if heard is None:
            return found[0]
        request = await self._understood(heard)
        return self._places.nearest(request.topic or heard.text, found)

    async def _offer_run(self, heard: Heard, task: BoundTask) -> Detour | None:
        """Show what the visitor's sentence means, and run it after a yes."""
        told = f"{task.name}: {describe_values(task)}" if task.values else task.name
        self._tell(Understood("run", heard.text, told))
        if self._caption is not None:
            await self._caption(str(self._session.context.redact(told)))
        await self._say("run", task=told)
        await self._narrator.finished()
        answer = await self._turns.listen(self._manners.choice_s)
        if answer is None:
            await self._say("run_not")
            return None
        reply = await self._understood(answer)
        if reply.kind is RequestKind.YES:
            return Detour("aside", task_id=task.task_id, values=task.values)
        await self._say("run_not")
        return None if reply.kind is RequestKind.NO else await self._do(reply)

    # -- presentation ----------------------------------------------------------------------------

    async def _slower(self, _request: VisitorRequest) -> None:
        await self._at_pace(self._turns.pace / self._manners.pace_step, "slower", "slowest")

    async def _faster(self, _request: VisitorRequest) -> None:
        await self._at_pace(self._turns.pace * self._manners.pace_step, "faster", "fastest")

    async def _usual(self, _request: VisitorRequest) -> None:
        await self._at_pace(1.0, "usual", "usual")

    async def _at_pace(self, wanted: float, reply: str, at_the_end: str) -> None:
        before = self._turns.pace
        self._narrator.pace = self._turns.want_pace(wanted)
        await self._say(reply if self._turns.pace != before else at_the_end)

    async def _repeat(self, _request: VisitorRequest) -> None:
        if self._story:
            await self._say("repeat", words=self._story[-1])
        else:
            await self._say("nothing_said")

    async def _pause(self, _request: VisitorRequest) -> Detour | None:
        await self._say("pause")
        for _ in range(2):
            heard = await self._turns.listen(self._manners.pause_s)
            while heard is not None:
                request = await self._understood(heard)
                if request.kind in (RequestKind.GO_ON, RequestKind.YES):
                    await self._go_on(request)
                    return None
                if request.kind is not RequestKind.PAUSE:
                    return await self._do(request)
                heard = await self._turns.listen(self._manners.pause_s)
            await self._say("still_there")
        return None

    async def _go_on(self, _request: VisitorRequest) -> None:
        await self._say("go_on")

    async def _nothing(self, _request: VisitorRequest) -> None:
        """Handle a yes or no to which no question belongs."""

    # -- speech ----------------------------------------------------------------------------------

    async def _answer_shortly(self, request: VisitorRequest) -> None:
        await self._say(request.kind.value)

    async def _introduce(self, request: VisitorRequest) -> None:
        context = self._session.context
        context.session[VISITOR_NAME] = request.name
        self._tell(VisitorIntroduced(request.name))
        await self._say("introduce", name=request.name)

    async def _attention(self, _request: VisitorRequest) -> Detour | None:
        await self._say("attention")
        return await self._next_request(self._manners.question_s)

    async def _help(self, _request: VisitorRequest) -> Detour | None:
        places = self._places.offered()
        await self._say("help", site=self._session.website.name, places=places)
        return await self._next_request(self._manners.question_s)

    async def _interest(self, request: VisitorRequest) -> None:
        wanted = request.kind is RequestKind.INTEREST
        found = await self._places.find(request.topic)
        topic = found[0].name if found else request.topic
        if not found:
            self._session.context.personal.keep(topic)  # the visitor's own word for it
        self._interested(topic, wanted=wanted)
        comes = bool(found) and self._comes_later(found[0])
        reply = "interest_noted" if not comes else request.kind.value
        await self._say(reply, topic=topic)

    def _comes_later(self, place: DemoTarget) -> bool:
        ids = [segment.segment_id for segment in self._flow.ordered_segments]
        here = ids.index(self._segment) if self._segment in ids else -1
        return place.segment_id in ids[here + 1 :]

    async def _question(self, request: VisitorRequest) -> Detour | None:
        asked = _asked_with_lead(request)
        previous, self._asked = self._asked, asked
        found = await self._answers.answer(asked, previous)
        if found is None:
            return await self._unanswered(request)
        answer = found.answer
        if answer.topic:
            self._interested(answer.topic)
        self._tell(Answered(request.text, answer.text, answer.sources))
        if found.quoted_language is None:
            await self._say("answer", answer=answer.text)
        else:
            name = self._language.language_names.get(found.quoted_language, found.quoted_language)
            await self._say("quoted", answer=answer.text, language=name)
        if answer.sources:
            await self._say("source", place=answer.sources[0])
        return None if request.then is not None else await self._anything_else()

    async def _identity(self, request: VisitorRequest) -> Detour | None:
        site = self._session.website.name
        await self._say("identity", presenter=self._flow.presenter, site=site)
        return None if request.then is not None else await self._anything_else()

    async def _say_if_noted(self) -> None:
        """Say that a request was noted for the owner, if its words are kept."""
        if self._session.context.personal.retention_days > 0:
            await self._say("noted")

    async def _unanswered(self, request: VisitorRequest) -> Detour | None:
        """Acknowledge a topic of interest without speech, and perhaps show a matching target."""
        self._tell(Declined(request.text, "no_answer"))
        found = await self._places.find(self._answers.subject(request.topic or request.text))
        if (
            not found
            or not found[0].doable
            or found[0].segment_id == self._segment
            or request.then is not None
        ):
            await self._say("declined")
            await self._say_if_noted()
            return None if request.then is not None else await self._anything_else(ask=False)
        await self._say("offer", place=found[0].name)
        await self._narrator.finished()
        heard = await self._turns.listen(self._manners.choice_s)
        if heard is None:
            return None
        reply = await self._understood(heard)
        if reply.kind is RequestKind.YES:
            self._interested(found[0].name)
            return found[0].aside()
        return None if reply.kind is RequestKind.NO else await self._do(reply)

    async def _unknown(self, request: VisitorRequest) -> Detour | None:
        self._tell(Declined(request.text, "not_understood"))
        await self._say("not_understood")
        return await self._anything_else(ask=False)

    async def _anything_else(self, *, ask: bool = True) -> Detour | None:
        """Ask the visitor before the flow continues, if the flow says so (KS `pause_and_ask`)."""
        rule = self._flow.fallback("user_interrupts", self._segment)
        if rule is None or rule.action != "pause_and_ask":
            return None
        if ask and rule.narration_template:
            await self._speak(rule.narration_template)
        elif ask:
            await self._say("anything_else")
        return await self._next_request(self._manners.follow_up_s)

    async def _next_request(self, timeout_s: float) -> Detour | None:
        """Handle what the visitor says next in time."""
        await self._narrator.finished()
        heard = await self._turns.listen(timeout_s)
        if heard is None:
            return None
        request = await self._understood(heard)
        return None if request.kind is RequestKind.NO else await self._do(request)

    # -- conversation ----------------------------------------------------------------------------

    def _interested(self, topic: str, *, wanted: bool = True) -> None:
        self._interests.note(topic, wanted=wanted)
        self._tell(Interested(topic, wanted))

    async def _say(self, reply: str, **words: str) -> None:
        """Say one of the phrasings of a reply, never the same twice in a row."""
        phrasings = self._language.replies[reply]
        self._phrase_count += 1
        await self._speak(phrasings[self._phrase_count % len(phrasings)].format(**words))

    async def _speak(self, text: str) -> None:
        """Say something after the current speech; an interruption is handled next."""
        spoken = await self._narrator.say(str(self._session.context.redact(text)))
        if spoken is not None:
            self._tell(Narrated(spoken.text, spoken.start_s))
        await self._narrator.finished()

    def _tell(self, event: Event) -> None:
        self._session.bus.tell(event)

    def _follow(self, event: Event) -> None:
        """Return the current position: the segment and its last words."""
        if isinstance(event, SegmentStarted):
            self._segment = event.segment_id
            self._seen.append(event.segment_id)
        elif isinstance(event, Narrated) and not self._talking:
            self._story.append(event.text)


def _asked_with_lead(request: VisitorRequest) -> str:
    """Return a question with the word that joins it to the one before, which the parser takes away: `And a debit card`."""
    topic = request.topic or request.text
    before = request.text[: max(request.text.find(topic), 0)]
    lead = _LEAD.search(before)
    return f"{lead[1]} {topic}" if lead else topic
