"""One presentation, ready to be played: page, player, narrator, turn manager, and the run that records it.

The caller connects the audience: a film, a room, or a visitor's page.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from agent.errors import AgentError
from agent.events import EventBus
from agent.inferencer import Inferencer
from agent.media.secret_mask import SecretMask
from agent.media.voice import PersonalTextVoice, SilentVoice, Voice
from agent.presentation.film.film_player import FilmPlayer
from agent.presentation.flow_player import FlowPlayer
from agent.presentation.narration.narrator import Narrator
from agent.presentation.page_overlay import CaptionPublisher, PageOverlay
from agent.presentation.presentation_records import Presentation, build_presentation_ending
from agent.presentation.turn_manager import TurnManager, VisitorHost
from agent.presentation.visitor.conversation import Conversation
from agent.presentation.visitor.page_figures import PageFigures
from agent.run_records.run_log import RunLog
from agent.session import Session
from kb_schema.flow_translations import find_translation
from kb_schema.presentation_flows import PresentationFlow
from periplus.agent_failures import to_user_error
from periplus.demos.demo_environment import DemoEnvironment
from periplus.demos.demo_measurements import SegmentDurations, keep_measurements, read_segment_durations
from periplus.errors import UserError
from periplus.language_model import load_inferencer
from periplus.run_store_adapters import end_run_record, record_run
from periplus.session_setup import open_fresh_context, open_session
from periplus.settings import load_settings
from periplus.voices.voice_selection import check_voice, open_voice, parse_voice


@dataclass(frozen=True, slots=True)
class LivePresentationSettings:
    """How a flow is presented."""

    flow: str | None = None
    """None: the default flow of the environment."""
    speed: float = 1.0
    """0: as fast as possible, speech takes no time."""
    voice: bool = True
    """False: speech takes its time but is not audible."""
    language: str | None = None
    """Language of narration and voice; None: the flow's own."""
    speaker: str | None = None
    """Voice name of the synthesiser; None: the flow's own for that language."""
    window_s: float | None = None
    """Target duration in seconds, instead of the flow's own window."""
    captions: bool = True
    """Whether captions are drawn over the page; the event bus has them in any case."""
    zoom: bool = False
    """Whether the film is enlarged around what is pointed at: captions and chapters are not drawn over the page."""
    filmed: bool = False
    """Whether the player can be filmed segment by segment (`periplus.demos.demo_filming_session`)."""

    @property
    def instant(self) -> bool:
        """Whether speech takes no time."""
        return self.speed == 0

    @property
    def pace(self) -> float:
        """Speed of speech, typing and pointer."""
        return self.speed or 1.0


class LivePresentationClock:
    """Seconds of the presentation: since it was opened, or of its film if there is one."""

    def __init__(self) -> None:
        began = time.monotonic()
        self._now: Callable[[], float] = lambda: time.monotonic() - began

    def __call__(self) -> float:
        """Return the current time in seconds."""
        return self._now()

    def follow(self, now: Callable[[], float]) -> None:
        """Use another clock from now on: that of a recorder whose film has just begun."""
        self._now = now

    def restart(self) -> None:
        """Restart at 0."""
        began = time.monotonic()
        self._now = lambda: time.monotonic() - began


@dataclass(slots=True)
class LivePresentation:
    """The open resources of a presentation."""

    session: Session
    player: FlowPlayer
    narrator: Narrator
    turns: TurnManager
    flow: PresentationFlow
    clock: LivePresentationClock
    bus: EventBus
    overlay: PageOverlay | None
    """None: nothing is drawn (speed 0)."""
    log: RunLog
    voice_name: str = ""
    """Name of the voice, its language and its speed: equal names mean equal sound."""
    notes: list[str] = field(default_factory=list)
    """Notes for the user, for instance that there is no voice."""

    @property
    def presentation(self) -> Presentation:
        """The record so far."""
        told = self.player.presentation
        return told if told.flow_id else _build_empty_presentation(self.flow)

    async def play(self) -> Presentation:
        """Play the flow from start to end. Raises as `FlowPlayer.play` does."""
        return await self.player.play(self.flow.flow_id)

    def close(self) -> None:
        """Remove the overlay. May be called again."""
        self.narrator.close()
        if self.overlay is not None:
            self.overlay.close()


def _build_empty_presentation(flow: PresentationFlow) -> Presentation:
    return Presentation(flow.flow_id, flow.name, len(flow.segments))


@asynccontextmanager
async def open_live_presentation(
    environment: DemoEnvironment,
    settings: LivePresentationSettings | None = None,
    *,
    host: VisitorHost | None = None,
    voice: Voice | None = None,
    inferencer: Inferencer | None = None,
) -> AsyncIterator[LivePresentation]:
    """Open a presentation in a browser context of its own, without playing it.

    `host` handles the visitors heard by `LivePresentation.turns`; None: a `Conversation` with `inferencer`
    (None: the configured one). `voice` speaks and must not store personal text; None: the best voice
    available. The run ends with the context manager, with the result so far, unless it was ended before.
    Raises `UserError` for an unknown website or flow, or a language the flow does not have.
    """
    settings = settings or LivePresentationSettings()
    flow_id = settings.flow or environment.default_flow
    if flow_id is None:
        raise UserError("no flow was given", fix="choose one of the website's presentation flows")
    async with AsyncExitStack() as stack:
        context = await stack.enter_async_context(
            open_fresh_context(environment.browser, environment.storage)
        )
        session = await stack.enter_async_context(
            open_session(
                environment.stores,
                context,
                environment.website_id,
                base_url=environment.base_url,
                values=environment.values,
                runs=environment.runs,
                objective=environment.objective,
            )
        )
        try:
            flow = await session.knowledge.flow(flow_id)
        except AgentError as exc:
            raise to_user_error(exc, session.context) from exc
        log = await stack.enter_async_context(
            record_run(nullcontext(environment.runs), session, kind="demo", subject=flow.flow_id)
        )
        session.veil = SecretMask(session.page, session.context.secrets)
        observed = await read_segment_durations(environment.runs, environment.website_id, flow.flow_id)
        show = await _assemble(
            environment,
            settings,
            host,
            session,
            flow,
            log,
            voice=voice,
            inferencer=inferencer,
            observed=observed,
        )
        durations = SegmentDurations(show.clock, settings.speed)
        session.bus.listen(durations)
        try:
            yield show
        finally:
            show.close()
            await keep_measurements(log, durations.measurements(show.presentation))
        if not log.finished:
            await end_run_record(log, build_presentation_ending(show.presentation), {})


async def _assemble(
    environment: DemoEnvironment,
    settings: LivePresentationSettings,
    host: VisitorHost | None,
    session: Session,
    flow: PresentationFlow,
    log: RunLog,
    *,
    voice: Voice | None,
    inferencer: Inferencer | None,
    observed: Mapping[str, float],
) -> LivePresentation:
    clock, notes = LivePresentationClock(), list[str]()
    overlay = (
        None
        if settings.instant
        else PageOverlay(
            session.page,
            speed=settings.pace,
            captions=settings.captions and not settings.zoom,
            chapters=not settings.zoom,
        )
    )
    wanted = settings.voice and not settings.instant
    language = _language(flow, settings.language)
    configured = load_settings()
    speaker = settings.speaker or configured.voice or flow.voices.get(language)
    spec = parse_voice(speaker, "the voice") if speaker is not None else None
    key = configured.voice_key.get_secret_value() if configured.voice_key is not None else None

    def speak(folder: Path | None) -> Voice:
        if not wanted:
            return SilentVoice(settings.pace)
        return open_voice(spec, folder=folder, speed=settings.pace, language=language, key=key)

    given, voice = voice, voice or speak(environment.data_dir / "voice")
    await check_voice(voice)
    if wanted and isinstance(voice, SilentVoice):
        notes.append("no voice: espeak-ng is not installed (apt-get install espeak-ng)")
    discreet = given or PersonalTextVoice(voice, lambda: speak(None), session.context.personal.redact)
    narrator = Narrator(
        discreet,
        clock,
        speed=settings.pace,
        silent=settings.instant,
        show=None if settings.instant else CaptionPublisher(session.bus, overlay),
    )
    turns = TurnManager(narrator, clock, session.bus)
    turns.host = host or Conversation(
        session,
        narrator,
        turns,
        flow,
        language=language,
        inferencer=inferencer or load_inferencer("talk"),
        caption=None if overlay is None else overlay.caption,
        figures=PageFigures(session),
    )
    player = (FilmPlayer if settings.filmed else FlowPlayer)(
        session,
        narrator,
        clock=clock,
        overlay=overlay,
        speed=settings.pace,
        instant=settings.instant,
        turns=turns,
        language=language,
        window_s=settings.window_s,
        observed=observed,
    )
    named = f"{type(voice).__name__} {language} {speaker or ''} {settings.pace:g}"
    return LivePresentation(
        session, player, narrator, turns, flow, clock, session.bus, overlay, log, named, notes
    )


def _language(flow: PresentationFlow, wanted: str | None) -> str:
    """Raises `UserError` if the flow does not have the wanted language."""
    if wanted is None or wanted.casefold() == flow.language.casefold():
        return flow.language
    found = find_translation(flow, wanted)
    if found is None:
        raise UserError(
            f"the flow {flow.flow_id!r} has no texts in {wanted!r}",
            fix=f"it has: {', '.join(flow.languages)}",
        )
    return found
