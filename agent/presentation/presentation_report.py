"""Writes the report of a presentation: one self-contained HTML page."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from agent.presentation.narration.narrator import SpokenUtterance
from agent.presentation.presentation_records import Presentation
from agent.presentation.site_map_svg import draw_site_map
from kb_schema.tool_answers import SiteMap


@dataclass(frozen=True, slots=True)
class ScreenVisit:
    """A visited screen, with its time in seconds of the film."""

    at_s: float
    screen_id: str | None
    name: str | None
    confidence: float


def write_report(
    path: Path,
    presentation: Presentation,
    *,
    site: SiteMap,
    visits: Sequence[ScreenVisit],
    spoken: Sequence[SpokenUtterance],
    film: str | None,
    made_at: datetime,
    clean: Callable[[str], str] = lambda html: html,
) -> None:
    """Write the report page. `film`: name of the MP4 beside it, None without a film. `clean` redacts texts
    that must not be stored.
    """
    folder = Path(__file__).parent
    environment = Environment(
        loader=FileSystemLoader(folder), autoescape=select_autoescape(), undefined=StrictUndefined
    )
    environment.filters["clock"] = format_clock
    known = [visit.screen_id for visit in visits if visit.screen_id is not None]
    pictures = [
        None
        if segment.picture is None
        else "data:image/jpeg;base64," + base64.b64encode(segment.picture).decode()
        for segment in presentation.segments
    ]
    said = [
        [s for s in spoken if segment.start_s <= s.start_s < segment.end_s]
        for segment in presentation.segments
    ]
    html = environment.get_template("report.html.j2").render(
        p=presentation,
        map=Markup(draw_site_map(site, known)),  # noqa: S704 - every name is escaped where the SVG is built
        visited=list(dict.fromkeys(known)),
        visits=visits,
        site=site,
        pictures=pictures,
        said=said,
        film=film,
        made_at=made_at,
    )
    path.write_text(clean(html), encoding="utf-8")


def format_clock(seconds: float) -> str:
    """Return seconds as `m:ss`."""
    minutes, rest = divmod(round(max(0.0, seconds)), 60)
    return f"{minutes}:{rest:02d}"
