"""One show, ready to be played: page, player, narrator and floor, and the run it is recorded as.

Who watches it (a film, a room, a visitor's page) is up to whoever opens it.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from agent.errors import AgentError
from agent.events import Bus
from agent.inferring import Inferencer
from agent.media.discreet import DiscreetVoice
from agent.media.veil import Veil
from agent.media.voice import EspeakVoice, SilentVoice, Voice, VoiceMissing, find_voice
from agent.presenting.captioning import Captioning
from agent.presenting.film.player import FilmPlayer
from agent.presenting.floor import Floor, Host
from agent.presenting.narrator import Narrator
from agent.presenting.player import Player
from agent.presenting.records import Presentation
from agent.presenting.stage import Stage
from agent.presenting.visitor.conversation import Conversation
from agent.run_log import RunLog, ending_of_presentation
from agent.session import Session
from kb_schema.presentation import PresentationFlow
from kb_schema.telling import spoken_as
from periplus.errors import UserError
from periplus.failures import for_a_person
from periplus.inferring import configured_inferencer
from periplus.logbook import end_record, recorded
from periplus.presenting.venue import Venue
from periplus.presenting_events import Durations, keep_measurements, observed_durations
from periplus.voyage import fresh_context, open_session


@dataclass(frozen=True, slots=True)
class ShowSettings:
    """How a show is told."""

    flow: str | None = None
    """None: the venue's own."""
    speed: float = 1.0
    """0: as fast as it goes, without words taking time."""
    voice: bool = True
    """False: the words take their time, but nothing is heard."""
    language: str | None = None
    """Of narration and voice; None: the flow's own."""
    speaker: str | None = None
    """The voice, as the synthesiser names it; None: the flow's own for that language."""
    window_s: float | None = None
    """Seconds it is to take, instead of the flow's own window."""
    captions: bool = True
    """Whether captions are drawn into the picture; they are told on the bus in any case."""
    filmed: bool = False
    """Whether its player can be filmed segment by segment (`periplus.presenting.filming`)."""

    @property
    def instant(self) -> bool:
        """Whether words take no time."""
        return self.speed == 0

    @property
    def pace(self) -> float:
        """The speed of what takes time."""
        return self.speed or 1.0


class ShowClock:
    """Seconds of the show: since it was opened, or of its film once one follows."""

    def __init__(self) -> None:
        began = time.monotonic()
        self._now: Callable[[], float] = lambda: time.monotonic() - began

    def __call__(self) -> float:
        """What it says now."""
        return self._now()

    def follow(self, now: Callable[[], float]) -> None:
        """From now on, this clock says what `now` says: a recorder's, whose film has just begun."""
        self._now = now

    def restart(self) -> None:
        """It is 0 now."""
        began = time.monotonic()
        self._now = lambda: time.monotonic() - began


@dataclass(slots=True)
class Show:
    """What is open while a show is."""

    session: Session
    player: Player
    narrator: Narrator
    floor: Floor
    flow: PresentationFlow
    clock: ShowClock
    bus: Bus
    stage: Stage | None
    """None where nothing is drawn: an instant show."""
    log: RunLog
    voice_name: str = ""
    """Who speaks, in which language and how fast: what sounds the same has the same name."""
    notes: list[str] = field(default_factory=list)
    """What its owner should know: there is no voice, say."""

    @property
    def presentation(self) -> Presentation:
        """What has been shown by now."""
        told = self.player.presentation
        return told if told.flow_id else _nothing_yet(self.flow)

    async def play(self) -> Presentation:
        """Play it from start to end. Raises as `Player.play` does."""
        return await self.player.play(self.flow.flow_id)

    def close(self) -> None:
        """Nothing more is drawn. May be called again."""
        self.narrator.close()
        if self.stage is not None:
            self.stage.close()


def _nothing_yet(flow: PresentationFlow) -> Presentation:
    return Presentation(flow.flow_id, flow.name, len(flow.segments))


@asynccontextmanager
async def open_show(
    venue: Venue,
    settings: ShowSettings | None = None,
    *,
    host: Host | None = None,
    voice: Voice | None = None,
    inferencer: Inferencer | None = None,
) -> AsyncIterator[Show]:
    """A show in a browser context of its own; nothing is played yet.

    `host` looks after whoever is heard on `Show.floor`; None: a `Conversation`, with `inferencer` (None: the
    configured one). `voice` speaks, keeping nothing personal; None: the best there is here. The run it is
    recorded as is ended with it, as the presentation came out by then, unless it was ended before. Raises
    `UserError` where there is no such website or flow, or the flow is not told in that language.
    """
    settings = settings or ShowSettings()
    flow_id = settings.flow or venue.default_flow
    if flow_id is None:
        raise UserError("no flow was named", fix="name one of the website's presentation flows")
    async with AsyncExitStack() as stack:
        context = await stack.enter_async_context(fresh_context(venue.browser))
        session = await stack.enter_async_context(
            open_session(
                venue.stores,
                context,
                venue.website_id,
                base_url=venue.base_url,
                values=venue.values,
                runs=venue.runs,
            )
        )
        try:
            flow = await session.knowledge.flow(flow_id)
        except AgentError as exc:
            raise for_a_person(exc, session.context) from exc
        log = await stack.enter_async_context(
            recorded(nullcontext(venue.runs), session, kind="demo", subject=flow.flow_id)
        )
        session.veil = Veil(session.page, session.context.secrets)
        observed = await observed_durations(venue.runs, venue.website_id, flow.flow_id)
        show = await _assemble(
            venue, settings, host, session, flow, log, voice=voice, inferencer=inferencer, observed=observed
        )
        durations = Durations(show.clock, settings.speed)
        session.bus.listen(durations)
        try:
            yield show
        finally:
            show.close()
            await keep_measurements(log, durations.measurements(show.presentation))
        if not log.finished:
            await end_record(log, ending_of_presentation(show.presentation), {})


async def _assemble(
    venue: Venue,
    settings: ShowSettings,
    host: Host | None,
    session: Session,
    flow: PresentationFlow,
    log: RunLog,
    *,
    voice: Voice | None,
    inferencer: Inferencer | None,
    observed: Mapping[str, float],
) -> Show:
    clock, notes = ShowClock(), list[str]()
    stage = None if settings.instant else Stage(session.page, speed=settings.pace, captions=settings.captions)
    wanted = settings.voice and not settings.instant
    language = _language(flow, settings.language)
    speaker = settings.speaker or flow.voices.get(language)

    def speak(folder: Path | None) -> Voice:
        return find_voice(wanted, folder=folder, speed=settings.pace, language=language, voice=speaker)

    given, voice = voice, voice or speak(venue.data_dir / "voice")
    if isinstance(voice, EspeakVoice):
        await _installed(voice)
    if wanted and isinstance(voice, SilentVoice):
        notes.append("no voice: espeak-ng is not installed (apt-get install espeak-ng)")
    discreet = given or DiscreetVoice(voice, lambda: speak(None), session.context.personal.redact)
    narrator = Narrator(
        discreet,
        clock,
        speed=settings.pace,
        silent=settings.instant,
        show=None if settings.instant else Captioning(session.bus, stage),
    )
    floor = Floor(narrator, clock, session.bus)
    floor.host = host or Conversation(
        session,
        narrator,
        floor,
        flow,
        language=language,
        inferencer=inferencer or configured_inferencer(),
        caption=None if stage is None else stage.caption,
    )
    player = (FilmPlayer if settings.filmed else Player)(
        session,
        narrator,
        clock=clock,
        stage=stage,
        speed=settings.pace,
        instant=settings.instant,
        floor=floor,
        language=language,
        window_s=settings.window_s,
        observed=observed,
    )
    named = f"{type(voice).__name__} {language} {speaker or ''} {settings.pace:g}"
    return Show(session, player, narrator, floor, flow, clock, session.bus, stage, log, named, notes)


async def _installed(voice: EspeakVoice) -> None:
    """Raises `UserError` where there is no such voice."""
    try:
        await voice.check()
    except VoiceMissing as exc:
        fix = "name one that is installed: `voices` of the flow, or the voice that was asked for"
        raise UserError(str(exc), fix=fix) from exc


def _language(flow: PresentationFlow, wanted: str | None) -> str:
    """Raises `UserError` where the flow is not told in the wanted one."""
    if wanted is None or wanted.casefold() == flow.language.casefold():
        return flow.language
    found = spoken_as(flow, wanted)
    if found is None:
        raise UserError(
            f"the flow {flow.flow_id!r} is not told in {wanted!r}",
            fix=f"it is told in: {', '.join(flow.languages)}",
        )
    return found
