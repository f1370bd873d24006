"""The report of a presentation: one self-contained HTML page."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from agent.presenting.narrator import Spoken
from agent.presenting.records import Presentation
from agent.presenting.site_map import draw
from kb_schema.answers import SiteMap


@dataclass(frozen=True, slots=True)
class Visit:
    """A screen that was seen, in seconds of the film."""

    at_s: float
    screen_id: str | None
    name: str | None
    confidence: float


def write_report(
    path: Path,
    presentation: Presentation,
    *,
    site: SiteMap,
    visits: Sequence[Visit],
    spoken: Sequence[Spoken],
    film: str | None,
    made_at: datetime,
    clean: Callable[[str], str] = lambda html: html,
) -> None:
    """Write the page. `film` is the MP4's name beside it, None where there is none. `clean` takes out what is
    not to be on a disk.
    """
    folder = Path(__file__).parent
    environment = Environment(
        loader=FileSystemLoader(folder), autoescape=select_autoescape(), undefined=StrictUndefined
    )
    environment.filters["clock"] = clock
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
        map=Markup(draw(site, known)),  # noqa: S704 - every name in it is escaped where it is drawn
        visited=list(dict.fromkeys(known)),
        visits=visits,
        site=site,
        pictures=pictures,
        said=said,
        film=film,
        made_at=made_at,
    )
    path.write_text(clean(html), encoding="utf-8")


def clock(seconds: float) -> str:
    """`m:ss`."""
    minutes, rest = divmod(round(max(0.0, seconds)), 60)
    return f"{minutes}:{rest:02d}"
