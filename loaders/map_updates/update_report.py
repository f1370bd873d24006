"""The report of an updated map for the owner of the site: a headline, and each change in one line.

Names of websites are escaped: as code in Markdown, as text in HTML.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template, select_autoescape

from loaders.diffs.diff_summary import TextParts, WebsiteName, to_plain_text
from loaders.map_updates.map_changes import MapChange, MapComparison
from loaders.markup_escapes import format_count, html_code, markdown_code

MOST_NAMED = 3
"""The most controls of a kind that the headline names."""
MOST_SCREENS = 4
"""The most screens that a line names."""

HEADINGS = {
    "screen_new": "New screens",
    "screen_added": "Screens that the map lacked",
    "screen_gone": "Screens that are gone",
    "link_broken": "Broken links",
    "renamed": "Renamed",
    "new": "New controls",
    "gone": "Controls that are gone",
    "options": "Other options",
    "required": "Required now",
    "optional": "Not required any more",
    "title": "Other titles",
    "selector": "Found in another way",
    "not_found": "Controls that were not found",
    "screen_not_found": "Screens that were not found",
    "not_compared": "Screens that were not compared",
}
"""The heading of each kind of change, in the order of the report."""
NO_CHANGES = frozenset({"not_found", "screen_not_found", "not_compared"})
"""What says nothing about the site."""


@dataclass(frozen=True, slots=True)
class UpdateReport:
    """What an update says."""

    website_id: str
    name: str
    url: str
    mapped_at: datetime
    updated_at: datetime
    finished: bool
    """False: the exploration of what is new ended at a limit or was stopped."""
    comparison: MapComparison
    names: dict[str, str]
    """Names of the screens, by id."""
    left: tuple[str, ...] = ()
    """Changes that were not made in the knowledge, and why."""

    @property
    def changes(self) -> list[MapChange]:
        """All changes, in the order of the report."""
        order = list(HEADINGS)
        return sorted(self.comparison.changes, key=lambda each: order.index(each.kind))

    @property
    def headline(self) -> TextParts:
        """Return `3 screens new, 1 screen gone, Save renamed to Store`."""
        parts = list(_headline(self.comparison.changes))
        if not parts:
            parts = [(f"nothing changed: {self._looked_at}",)]
        missing = sum(each.kind in ("screen_not_found", "not_compared") for each in self.comparison.changes)
        if missing:
            parts.append((f"{format_count(missing, 'screen')} not found or not compared",))
        if not self.finished:
            parts.append(("not everything new was explored",))
        return _join(parts)

    @property
    def _looked_at(self) -> str:
        return f"{format_count(len(self.comparison.found), 'screen')} opened again and compared"


def _headline(changes: Sequence[MapChange]) -> Iterator[TextParts]:
    for kind, word in (
        ("screen_new", "new"),
        ("screen_gone", "gone"),
        ("screen_added", "that the map lacked"),
    ):
        number = sum(each.kind == kind for each in changes)
        if number:
            yield (f"{format_count(number, 'screen')} {word}",)
    broken = sum(each.kind == "link_broken" for each in changes)
    if broken:
        yield (f"{format_count(broken, 'link')} broken",)
    renamed = [each for each in changes if each.kind == "renamed"]
    if len(renamed) <= MOST_NAMED:
        yield from ((WebsiteName(each.before), " renamed to ", WebsiteName(each.name)) for each in renamed)
    else:
        yield (f"{format_count(len(renamed), 'control')} renamed",)
    for kind, word in (("new", "new"), ("gone", "gone")):
        roles = [each.role for each in changes if each.kind == kind]
        yield from ((f"{format_count(roles.count(role), role)} {word}",) for role in dict.fromkeys(roles))
    added = sum(len(each.added) for each in changes if each.kind == "options")
    removed = sum(len(each.removed) for each in changes if each.kind == "options")
    if added:
        yield (f"{format_count(added, 'option')} new",)
    if removed:
        yield (f"{format_count(removed, 'option')} gone",)
    for kinds, words in (
        (("required", "optional"), "required or not any more"),
        (("title",), "with another title"),
        (("selector",), "found in another way"),
    ):
        number = sum(each.kind in kinds for each in changes)
        thing = "screen" if kinds == ("title",) else "field" if "required" in kinds else "control"
        if number:
            yield (f"{format_count(number, thing)} {words}",)


def describe_change(change: MapChange, names: dict[str, str]) -> TextParts:
    """Return a change in words."""
    name, before, url = WebsiteName(change.name), WebsiteName(change.before), WebsiteName(change.url)
    if change.kind in ("screen_new", "screen_added"):
        return (name, " at ", url, *((", by ", WebsiteName(change.note)) if change.note else ()))
    if change.kind in ("screen_gone", "screen_not_found"):
        return (name, " at ", url, ": ", WebsiteName(change.note))
    if change.kind == "not_compared":
        return (name, f": {change.note}")
    if change.kind == "link_broken":
        return (name, f" leads to {change.note} at ", url)
    words: TextParts = (*((f"{change.role} ",) if change.role else ()), name)
    if change.kind in ("title", "renamed"):
        words = (*words[:-1], before, " is now ", name)
    return (*words, *_options(change), *_screens(change, names))


def _options(change: MapChange) -> Iterator[str | WebsiteName]:
    for word, options in (("new", change.added), ("gone", change.removed)):
        if options:
            yield f", {word}: "
            yield from _list_names(options)


def _list_names(names: Sequence[str], most: int = MOST_SCREENS) -> Iterator[str | WebsiteName]:
    for number, each in enumerate(names[:most]):
        yield from ((", ",) if number else ())
        yield WebsiteName(each)
    if len(names) > most:
        yield f" and {len(names) - most} more"


def _screens(change: MapChange, names: dict[str, str]) -> TextParts:
    shown = [names.get(each, each) for each in change.screens]
    return (" on ", *_list_names(shown)) if shown else ()


def _join(parts: Iterable[TextParts]) -> TextParts:
    joined: list[str | WebsiteName] = []
    for part in parts:
        joined += [*((", ",) if joined else ()), *part]
    return tuple(joined)


# -- forms -----------------------------------------------------------------------------------------------


def list_lines(report: UpdateReport, name: Callable[[str], str]) -> Iterator[tuple[str, list[str]]]:
    """Yield each heading with its lines. `name`: writes a name of the website."""
    for kind, heading in HEADINGS.items():
        own = [each for each in report.changes if each.kind == kind]
        if own:
            yield heading, [to_plain_text(describe_change(each, report.names), name) for each in own]


def to_markdown(report: UpdateReport) -> str:
    """Return the report as Markdown."""
    opened = f"{format_count(len(report.comparison.found), 'screen')} of {report.comparison.revisited} opened again"
    lines = [
        f"# {markdown_code(report.name)}: {to_plain_text(report.headline, markdown_code)}",
        "",
        f"Compared on {_time(report.updated_at)} with the map of {_time(report.mapped_at)}: {opened}.",
    ]
    for heading, entries in list_lines(report, markdown_code):
        lines += ["", f"## {heading} ({len(entries)})", "", *(f"- {each}" for each in entries)]
    if report.left:
        lines += [
            "",
            "## Not changed in the knowledge",
            "",
            *(f"- {markdown_code(each, 400)}" for each in report.left),
        ]
    return "\n".join(lines) + "\n"


def _time(when: datetime) -> str:
    return f"{when:%Y-%m-%d %H:%M} UTC"


def to_html(report: UpdateReport) -> str:
    """Return the report as one HTML page."""
    return _template().render(
        report=report,
        headline=to_plain_text(report.headline),
        sections=list(list_lines(report, html_code)),
    )


@cache
def _template() -> Template:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=select_autoescape(["html", "j2"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.j2")


def to_json(report: UpdateReport) -> dict[str, Any]:
    """Return the report as JSON."""
    return {
        "website_id": report.website_id,
        "headline": to_plain_text(report.headline),
        "mapped_at": report.mapped_at.isoformat(timespec="seconds"),
        "updated_at": report.updated_at.isoformat(timespec="seconds"),
        "finished": report.finished,
        "screens_looked_for": report.comparison.revisited,
        "screens_found": len(report.comparison.found),
        "changed": any(each.kind not in NO_CHANGES for each in report.changes),
        "changes": [_change_to_json(each) for each in report.changes],
        "left": list(report.left),
    }


def _change_to_json(change: MapChange) -> dict[str, Any]:
    told = {
        "kind": change.kind,
        "name": change.name,
        "screens": list(change.screens),
        "element": change.element_id,
        "role": change.role,
        "before": change.before,
        "added": list(change.added),
        "removed": list(change.removed),
        "url": change.url,
        "note": change.note,
    }
    return {key: value for key, value in told.items() if value}
