"""The HTML report: one self-contained page with steps, pictures, healing, root causes and tests."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template, select_autoescape

from kb_schema.verification import ExecutedStep, HealEvent, VerdictReport

REPORT = "report.html"
MOST_PICTURES_BYTES = 40_000_000
"""Limit for all pictures together: beyond it they are left out, and the page says so."""
_KINDS = {".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".png": "image/png", ".webp": "image/webp"}


@dataclass(frozen=True, slots=True)
class ReportedStep:
    """A step as the page shows it."""

    step: ExecutedStep
    picture: str | None
    """As a data URI."""
    heals: tuple[HealEvent, ...]


@dataclass(frozen=True, slots=True)
class ReportedRequirement:
    """A requirement as the page shows it."""

    report: VerdictReport
    steps: tuple[ReportedStep, ...]
    source: str | None
    """The source of the generated test."""
    healed: int
    """Number of steps that passed after healing."""
    offered: str | None = None
    """A picture of the offered element, as a data URI."""


def write_html(
    reports: Sequence[VerdictReport],
    path: Path,
    *,
    folder: Path,
    title: str = "Verification",
    site: str = "",
    proof: str | None = None,
) -> Path:
    """Write the page and return its path.

    `folder` is what the paths of pictures and tests are relative to; `proof` is the output of pytest on the
    generated suite.
    """
    pictures = _EmbeddedPictures(folder)
    parts = [_part(each, folder, pictures) for each in reports]
    verdicts = Counter(each.verdict for each in reports)
    page = _template().render(
        title=title,
        site=site,
        parts=parts,
        passed=verdicts["pass"],
        failed=verdicts["fail"],
        partial=verdicts["partial"],
        classes=Counter(each.rca.class_ for each in reports if each.verdict != "pass").most_common(),
        heals=sum(len(each.heal_events) for each in reports),
        duration_s=sum(each.duration_ms for each in reports) / 1000,
        made=max((each.timestamp for each in reports), default=None),
        proof=proof,
        left_out=pictures.left_out,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8")
    return path


def _part(report: VerdictReport, folder: Path, pictures: _EmbeddedPictures) -> ReportedRequirement:
    steps = tuple(
        ReportedStep(
            step,
            pictures.of(step.screenshot),
            tuple(each for each in report.heal_events if each.step_idx == step.step_idx),
        )
        for step in report.steps
    )
    test = report.artifacts.get("test_file")
    source = None
    if test is not None and (folder / test).is_file():
        source = (folder / test).read_text(encoding="utf-8")
    healed = sum(bool(each.heals) and each.step.status == "success" for each in steps)
    offered = pictures.of(report.offered.screenshot) if report.offered is not None else None
    return ReportedRequirement(report, steps, source, healed, offered)


class _EmbeddedPictures:
    """Turns pictures into data URIs, up to a total size."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._room, self.left_out = folder, MOST_PICTURES_BYTES, 0

    def of(self, name: str | None) -> str | None:
        """Return the picture; None if there is none, or no room for it."""
        if name is None:
            return None
        path = self._folder / name
        kind = _KINDS.get(path.suffix.lower())
        if kind is None or not path.is_file():
            return None
        if path.stat().st_size > self._room:
            self.left_out += 1
            return None
        data = path.read_bytes()
        self._room -= len(data)
        return f"data:{kind};base64,{base64.b64encode(data).decode('ascii')}"


def _moment(value: datetime | None) -> str:
    return value.astimezone().strftime("%d %B %Y, %H:%M") if value is not None else ""


def _seconds(milliseconds: float) -> str:
    seconds = milliseconds / 1000
    return f"{seconds:.2f} s" if seconds < 1 else f"{seconds:.1f} s"


@cache
def _template() -> Template:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"moment": _moment, "seconds": _seconds}
    return environment.get_template("report.html.j2")
