"""Looking after one visitor: every request is understood, told, and done or declined.

Where the story goes is only named here (`Detour`); going there is the player's business.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from agent.errors import AgentError
from agent.events import Event
from agent.inferring import Inferencer
from agent.presenting.engagement import VISITOR_NAME
from agent.presenting.floor import Detour, Floor, Heard
from agent.presenting.records import (
    Answered,
    Declined,
    Interested,
    Narrated,
    SegmentStarted,
    Understood,
    VisitorIntroduced,
)
from agent.presenting.visitor.answering import Answers
from agent.presenting.visitor.interests import Interests
from agent.presenting.visitor.languages import language as known_language
from agent.presenting.visitor.languages import languages
from agent.presenting.visitor.manners import Manners
from agent.presenting.visitor.places import Place, Places
from agent.presenting.visitor.requests import Kind, Request
from agent.presenting.visitor.understanding import asks_for_name, understand
from agent.session import Session
from kb_schema.presentation import PresentationFlow
from kb_schema.telling import in_language

LOG = logging.getLogger(__name__)
INTERRUPTS = frozenset({Kind.QUESTION, Kind.UNKNOWN, Kind.ATTENTION, Kind.HELP, Kind.SHOW})
"""After which a flow may say that its story does not go on where it was."""
LAST_WORDS = 3
"""A question stays open for so many sentences."""


class Said(Protocol):
    """What was spoken, as far as it was heard."""

    @property
    def text(self) -> str:
        """The words."""

    @property
    def start_s(self) -> float:
        """Seconds of the show."""


class Speaking(Protocol):
    """Who speaks, as far as a host needs it (`agent.presenting.narrator.Narrator`)."""

    pace: float

    @property
    def spoken(self) -> list[Any]:
        """Everything that was said, in order (`Said`)."""

    async def say(self, text: str) -> Said | None:
        """Begin to speak; None where there is nothing to say, or nobody wants to hear it."""

    async def finished(self) -> None:
        """Return when nobody speaks any more."""


class Conversation:
    """The host of one show (`agent.presenting.floor.Host`)."""

    def __init__(
        self,
        session: Session,
        narrator: Speaking,
        floor: Floor,
        flow: PresentationFlow,
        *,
        language: str | None = None,
        inferencer: Inferencer | None = None,
        manners: Manners | None = None,
        caption: Callable[[str], Awaitable[None]] | None = None,
    ) -> None:
        """`language`: the one the show is told in; None: the flow's own. `inferencer` words answers, which are
        then held to what was retrieved; None: they are quoted. `caption` puts what was understood into
        the picture.
        """
        self._session, self._narrator, self._floor = session, narrator, floor
        spoken = (language or flow.language).split("-")[0].casefold()
        self._language = known_language(spoken if spoken in languages() else "en")
        authored = flow.language
        self._flow = flow = in_language(flow, language)
        self._manners, self._caption = manners or Manners(), caption
        self._places = Places(session, flow, self._language, authored=authored)
        self._answers = Answers(session, flow, self._language, inferencer)
        self._interests = Interests(session.context, flow)
        self._segment: str | None = None
        self._seen: list[str] = []
        self._story: deque[str] = deque(maxlen=LAST_WORDS)
        self._turns = 0
        self._talking = False
        session.bus.listen(self._follow)
        self._does: Mapping[Kind, Callable[[Request], Awaitable[Detour | None]]] = {
            Kind.BACK: self._back,
            Kind.SKIP: self._skip,
            Kind.SHOW: self._show,
            Kind.JUMP: self._jump,
            Kind.REPLAY: self._replay,
            Kind.RESTART: self._restart,
            Kind.REPEAT: self._repeat,
            Kind.SLOWER: self._slower,
            Kind.FASTER: self._faster,
            Kind.USUAL: self._usual,
            Kind.PAUSE: self._pause,
            Kind.GO_ON: self._go_on,
            Kind.STOP: self._stop,
            Kind.INTRODUCE: self._introduce,
            Kind.YES: self._nothing,
            Kind.NO: self._nothing,
            Kind.GREET: self._answer_shortly,
            Kind.THANKS: self._answer_shortly,
            Kind.ATTENTION: self._attention,
            Kind.HELP: self._help,
            Kind.INTEREST: self._interest,
            Kind.NO_INTEREST: self._interest,
            Kind.QUESTION: self._question,
            Kind.UNKNOWN: self._unknown,
        }

    async def attend(self, heard: Heard) -> Detour | None:
        """Do what was asked for, and whatever is asked for meanwhile; None: the story goes on."""
        self._talking = True
        try:
            request = await self._understood(heard)
            detour = await self._do(request)
            return detour if detour is not None else await self._as_the_flow_says(request)
        except AgentError as exc:  # nobody is to leave because the desk does not answer
            LOG.warning("a visitor could not be attended to: %s", self._session.context.redact(str(exc)))
            self._tell(Declined(heard.text, "no_answer"))
            await self._say("declined")
            return None
        finally:
            self._talking = False

    async def _do(self, request: Request) -> Detour | None:
        detour = await self._does[request.kind](request)
        if detour is not None or request.then is None:
            return detour
        await self._shown(request.then)
        return await self._does[request.then.kind](request.then)

    async def _as_the_flow_says(self, request: Request) -> Detour | None:
        """What the flow does with its story once somebody interrupted it and was answered."""
        rule = self._flow.fallback("user_interrupts", self._segment)
        if rule is None or request.kind not in INTERRUPTS:
            return None
        if rule.action == "stop":
            return await self._stop(request)
        return Detour("skip") if rule.action == "skip" else None

    async def _understood(self, heard: Heard) -> Request:
        request = understand(
            heard.text,
            self._language.language,
            presenter=self._flow.presenter,
            name_asked=any(asks_for_name(text, self._language.language) for text in self._story),
        )
        await self._shown(request)
        return request

    async def _shown(self, request: Request) -> None:
        """What was understood, to be seen until there are words again."""
        told = self._told(request)
        self._tell(Understood(request.kind.value, request.text, told))
        if self._caption is not None:
            await self._caption(str(self._session.context.redact(told)))

    def _told(self, request: Request) -> str:
        told = self._language.told[request.kind]
        return told.format(topic=request.topic, name=request.name)

    # -- where to ------------------------------------------------------------------------------------

    async def _back(self, _request: Request) -> Detour | None:
        if len(self._seen) < 2:
            await self._say("no_back")
            return None
        await self._say("back")
        return Detour("back")

    async def _skip(self, _request: Request) -> Detour | None:
        await self._say("skip")
        return Detour("skip")

    async def _stop(self, _request: Request) -> Detour | None:
        name = self._session.context.session.get(VISITOR_NAME)
        await self._say("stop_named" if name else "stop", name=str(name or ""))
        await self._narrator.finished()
        return Detour("stop")

    async def _replay(self, _request: Request) -> Detour | None:
        return await self._to_segment(self._segment, "replay")

    async def _restart(self, _request: Request) -> Detour | None:
        return await self._to_segment(self._flow.ordered_segments[0].segment_id, "restart")

    async def _to_segment(self, segment_id: str | None, reply: str) -> Detour | None:
        if segment_id is None:
            await self._say("no_back")
            return None
        await self._say(reply)
        return Detour("segment", segment_id=segment_id)

    async def _show(self, request: Request) -> Detour | None:
        place = await self._place(request)
        if place is None:
            return None
        if place.segment_id is not None and place.segment_id == self._segment:
            return await self._replay(request)
        await self._say("show" if place.doable else "explain_instead", place=place.name)
        return place.aside()

    async def _jump(self, request: Request) -> Detour | None:
        place = await self._place(request)
        if place is None:
            return None
        await self._say("jump" if place.doable else "explain_instead", place=place.name)
        if place.segment_id is not None:
            return Detour("segment", segment_id=place.segment_id)
        return place.aside()

    async def _place(self, request: Request) -> Place | None:
        """What is meant; asked for where it may be either of two, and told where there is none."""
        found = await self._places.find(request.topic)
        if not found:
            self._tell(Declined(request.text, "nothing_to_show"))
            self._session.context.personal.keep(request.topic)  # the visitor's own word for it
            await self._say("not_found", topic=request.topic)
            return None
        place = found[0]
        if len(found) > 1:
            await self._say("which", first=found[0].name, second=found[1].name)
            place = await self._chosen(found)
        self._interested(place.name)
        return place

    async def _chosen(self, found: list[Place]) -> Place:
        """The one that the visitor names; the first where nothing is said."""
        await self._narrator.finished()
        heard = await self._floor.listen(self._manners.choice_s)
        if heard is None:
            return found[0]
        request = await self._understood(heard)
        return self._places.nearest(request.topic or heard.text, found)

    # -- how it is told --------------------------------------------------------------------------------

    async def _slower(self, _request: Request) -> None:
        await self._at_pace(self._floor.pace / self._manners.pace_step, "slower", "slowest")

    async def _faster(self, _request: Request) -> None:
        await self._at_pace(self._floor.pace * self._manners.pace_step, "faster", "fastest")

    async def _usual(self, _request: Request) -> None:
        await self._at_pace(1.0, "usual", "usual")

    async def _at_pace(self, wanted: float, reply: str, at_the_end: str) -> None:
        before = self._floor.pace
        self._narrator.pace = self._floor.want_pace(wanted)
        await self._say(reply if self._floor.pace != before else at_the_end)

    async def _repeat(self, _request: Request) -> None:
        if self._story:
            await self._say("repeat", words=self._story[-1])
        else:
            await self._say("nothing_said")

    async def _pause(self, _request: Request) -> Detour | None:
        await self._say("pause")
        for _ in range(2):
            heard = await self._floor.listen(self._manners.pause_s)
            while heard is not None:
                request = await self._understood(heard)
                if request.kind in (Kind.GO_ON, Kind.YES):
                    await self._go_on(request)
                    return None
                if request.kind is not Kind.PAUSE:
                    return await self._do(request)
                heard = await self._floor.listen(self._manners.pause_s)
            await self._say("still_there")
        return None

    async def _go_on(self, _request: Request) -> None:
        await self._say("go_on")

    async def _nothing(self, _request: Request) -> None:
        """A yes or no that nobody asked for."""

    # -- talking ---------------------------------------------------------------------------------------

    async def _answer_shortly(self, request: Request) -> None:
        await self._say(request.kind.value)

    async def _introduce(self, request: Request) -> None:
        context = self._session.context
        context.session[VISITOR_NAME] = request.name
        self._tell(VisitorIntroduced(request.name))
        await self._say("introduce", name=request.name)

    async def _attention(self, _request: Request) -> Detour | None:
        await self._say("attention")
        return await self._next_request(self._manners.question_s)

    async def _help(self, _request: Request) -> Detour | None:
        places = self._places.offered()
        await self._say("help", site=self._session.website.name, places=places)
        return await self._next_request(self._manners.question_s)

    async def _interest(self, request: Request) -> None:
        wanted = request.kind is Kind.INTEREST
        found = await self._places.find(request.topic)
        topic = found[0].name if found else request.topic
        if not found:
            self._session.context.personal.keep(topic)  # the visitor's own word for it
        self._interested(topic, wanted=wanted)
        comes = bool(found) and self._comes_later(found[0])
        reply = "interest_noted" if not comes else request.kind.value
        await self._say(reply, topic=topic)

    def _comes_later(self, place: Place) -> bool:
        ids = [segment.segment_id for segment in self._flow.ordered_segments]
        here = ids.index(self._segment) if self._segment in ids else -1
        return place.segment_id in ids[here + 1 :]

    async def _question(self, request: Request) -> Detour | None:
        answer = await self._answers.to(request.topic or request.text)
        if answer is None:
            return await self._unanswered(request)
        if answer.topic:
            self._interested(answer.topic)
        self._tell(Answered(request.text, answer.text, answer.sources))
        await self._say("answer", answer=answer.text)
        if answer.sources:
            await self._say("source", place=answer.sources[0])
        return await self._anything_else()

    async def _unanswered(self, request: Request) -> Detour | None:
        """Nothing is said to it; perhaps there is something to see."""
        self._tell(Declined(request.text, "no_answer"))
        found = await self._places.find(self._answers.subject(request.topic or request.text))
        if not found or not found[0].doable or found[0].segment_id == self._segment:
            await self._say("declined")
            return await self._anything_else(ask=False)
        await self._say("offer", place=found[0].name)
        await self._narrator.finished()
        heard = await self._floor.listen(self._manners.choice_s)
        if heard is None:
            return None
        reply = await self._understood(heard)
        if reply.kind is Kind.YES:
            self._interested(found[0].name)
            return found[0].aside()
        return None if reply.kind is Kind.NO else await self._do(reply)

    async def _unknown(self, request: Request) -> Detour | None:
        self._tell(Declined(request.text, "not_understood"))
        await self._say("not_understood")
        return await self._anything_else(ask=False)

    async def _anything_else(self, *, ask: bool = True) -> Detour | None:
        """Where the flow says so, the visitor is asked before the story goes on (KS `pause_and_ask`)."""
        rule = self._flow.fallback("user_interrupts", self._segment)
        if rule is None or rule.action != "pause_and_ask":
            return None
        if ask and rule.narration_template:
            await self._speak(rule.narration_template)
        elif ask:
            await self._say("anything_else")
        return await self._next_request(self._manners.follow_up_s)

    async def _next_request(self, timeout_s: float) -> Detour | None:
        """What the visitor says next, in time, is done."""
        await self._narrator.finished()
        heard = await self._floor.listen(timeout_s)
        if heard is None:
            return None
        request = await self._understood(heard)
        return None if request.kind is Kind.NO else await self._do(request)

    # -- all of it -------------------------------------------------------------------------------------

    def _interested(self, topic: str, *, wanted: bool = True) -> None:
        self._interests.note(topic, wanted=wanted)
        self._tell(Interested(topic, wanted))

    async def _say(self, reply: str, **words: str) -> None:
        """One of the ways to put it, never the same twice running."""
        ways = self._language.replies[reply]
        self._turns += 1
        await self._speak(ways[self._turns % len(ways)].format(**words))

    async def _speak(self, text: str) -> None:
        """Nobody is talked over; who speaks meanwhile is attended to next."""
        spoken = await self._narrator.say(str(self._session.context.redact(text)))
        if spoken is not None:
            self._tell(Narrated(spoken.text, spoken.start_s))
        await self._narrator.finished()

    def _tell(self, event: Event) -> None:
        self._session.bus.tell(event)

    def _follow(self, event: Event) -> None:
        """Where the story is, and what was said last in it."""
        if isinstance(event, SegmentStarted):
            self._segment = event.segment_id
            self._seen.append(event.segment_id)
        elif isinstance(event, Narrated) and not self._talking:
            self._story.append(event.text)
