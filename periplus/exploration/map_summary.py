"""Summarises a map for people and scripts: screens, controls that were not tried, and next commands."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from shlex import quote
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from agent.exploration.requests.robots_permissions import DISALLOWED
from kb_schema import KnowledgeBase
from kb_schema.explorations import Exploration, ExplorationPage, Offer
from loaders.exploration_import import ExploredKnowledge
from loaders.exploration_import.screen_groups import PUBLIC
from loaders.markup_escapes import format_count
from periplus.exploration.map_folder import MapFolder
from periplus.exploration.map_view import ENDED, format_plain_text

MOST_SCREENS, MOST_REASONS, MOST_WARNINGS = 60, 12, 12


def count_untried_controls(exploration: Exploration, pages: Sequence[ExplorationPage]) -> Counter[str]:
    """Count the controls that were not tried, by reason."""
    names = {
        (page.page_id, offer.offer_id): f"{offer.danger}: {_describe_offer(offer)}" if offer.danger else ""
        for page in pages
        for offer in page.offers
    }
    return Counter(
        names.get((each.page_id, each.offer_id or "")) or each.reason for each in exploration.unexplored
    )


def describe_requests(pages: Sequence[ExplorationPage], usual: Sequence[str] = ()) -> list[str]:
    """Return a line on each request that pages made and that was not sent, or was sent because it reads or because every
    visit sends it (`usual`), and one on controls beyond the limit of a page.
    """
    held: defaultdict[str, list[str]] = defaultdict(list)
    sent: Counter[str] = Counter()
    for page in pages:
        sent.update(page.reads)
        for each in page.held_back:
            held[each].append(page.title or page.url)
    lines = [
        f"{request} was not sent, on {format_count(len(titles), 'page')} such as {titles[0]}:"
        f" they may show less; --reads {quote(request.partition(' ')[2].partition('?')[0])} if it only reads"
        for request, titles in held.items()
    ]
    lines += [
        f"{request} was sent, on {format_count(times, 'page')}: it reads" for request, times in sent.items()
    ]
    lines += [f"{request} was sent, as every visit sends it when a page opens" for request in usual]
    crowded = [page for page in pages if page.left_out]
    if crowded:
        more = sum(page.left_out for page in crowded)
        lines.append(
            f"{format_count(more, 'control')} more on {format_count(len(crowded), 'page')} such as"
            f" {crowded[0].title or crowded[0].url} were left out: a page has at most 240, of which 60 are tried"
        )
    return lines


def _describe_offer(offer: Offer) -> str:
    """Return the name of a control; for one without a name, what it is."""
    return offer.name or offer.label or f"a {offer.role or offer.tag or 'control'} without a name"


def summary_to_json(chart: ExploredKnowledge, folder: MapFolder) -> dict[str, Any]:
    """Return the summary as JSON."""
    exploration = folder.exploration.exploration
    return {
        "website_id": exploration.website_id,
        "ended_by": exploration.ended_by,
        "pages": sum(len(pages) for pages in chart.screens.values()),
        "screens": {screen_id: list(pages) for screen_id, pages in chart.screens.items()},
        "documents": {kind: len(documents) for kind, documents in chart.knowledge.by_kind.items()},
        "not_tried": dict(count_untried_controls(exploration, folder.exploration.pages())),
        "requests": describe_requests(folder.exploration.pages(), folder.exploration.exploration.usual),
        "warnings": list(chart.warnings),
        "exploration": str(folder.exploration.path),
        "knowledge": str(folder.knowledge),
    }


def print_map_summary(console: Console, chart: ExploredKnowledge, folder: MapFolder, *, loaded: bool) -> None:
    """Print the summary."""
    exploration = folder.exploration.exploration
    _screens(console, chart)
    knowledge = chart.knowledge
    _say(
        console,
        f"{format_count(len(knowledge.screens), 'screen')} of"
        f" {format_count(sum(map(len, chart.screens.values())), 'page')},"
        f" {format_count(len(knowledge.transitions), 'transition')},"
        f" {format_count(len(knowledge.tasks), 'drafted task')},"
        f" {format_count(len(knowledge.groups), 'screen group')},"
        f" {format_count(len(knowledge.recoveries), 'recovery edge')}; {ENDED[exploration.ended_by]}",
    )
    pages = folder.exploration.pages()
    untried = count_untried_controls(exploration, pages)
    _reasons(console, untried)
    if untried[DISALLOWED]:
        _say(
            console,
            "  ! robots.txt disallows addresses: --ignore-robots opens them, if the site is yours",
            "yellow",
        )
    for line in describe_requests(pages, exploration.usual):
        _say(console, f"  ! {format_plain_text(line)}", "yellow")
    for text in chart.warnings[:MOST_WARNINGS]:
        _say(console, f"  ! {format_plain_text(text)}", "yellow")
    if len(chart.warnings) > MOST_WARNINGS:
        _say(
            console, f"  and {len(chart.warnings) - MOST_WARNINGS} more remarks (--json has them all)", "dim"
        )
    _say(console, f"knowledge    {folder.knowledge}")
    _say(console, f"exploration  {folder.exploration.path}")
    for line in (*_next(exploration, folder, loaded=loaded), *_list_goals(knowledge)):
        _say(console, f"  {line}", "green")


def _screens(console: Console, chart: ExploredKnowledge) -> None:
    table = Table("screen", "name", "pages", "elements", "transitions from it", box=None, header_style="dim")
    leaving = Counter(edge.from_screen for edge in chart.knowledge.transitions.values())
    for screen_id, pages in list(chart.screens.items())[:MOST_SCREENS]:
        name, elements = chart.knowledge.screens[screen_id].name, chart.knowledge.elements(screen_id)
        counts = [str(number) for number in (len(pages), len(elements), leaving[screen_id])]
        table.add_row(screen_id, Text(format_plain_text(name)), *counts)
    console.print(table)
    if len(chart.screens) > MOST_SCREENS:
        _say(console, f"and {len(chart.screens) - MOST_SCREENS} more", "dim")


def _reasons(console: Console, reasons: Mapping[str, int]) -> None:
    if not reasons:
        return
    _say(console, f"not tried: {format_count(sum(reasons.values()), 'control')}", "yellow")
    for reason, count in sorted(reasons.items(), key=lambda item: -item[1])[:MOST_REASONS]:
        _say(console, f"  {count:>4}  {format_plain_text(reason)}")
    if len(reasons) > MOST_REASONS:
        _say(console, f"  and {len(reasons) - MOST_REASONS} other reasons")


def _next(exploration: Exploration, folder: MapFolder, *, loaded: bool) -> list[str]:
    lines = []
    if exploration.ended_by != "done":
        again = f"periplus map {quote(exploration.starts[0])} --out {quote(str(folder.path))} --resume"
        lines.append(f"{again}{_signing_in(exploration.signed_in_by)}")
    if not loaded:
        lines.append(f"periplus kb load {quote(str(folder.knowledge))}")
    return [*lines, "periplus serve"]


def _list_goals(knowledge: KnowledgeBase) -> list[str]:
    """Return a command that goes to a screen, with the inputs of the task that signs in.

    Of the screens for those who are signed in, it is the one to which most lead after the first, which mostly is the start.
    """
    login = knowledge.tasks.get(knowledge.website.login_task_id or "")
    forms = () if login is None else {each.action.target_screen for each in login.steps}
    goals = [
        each for each in knowledge.screens.values() if each.url is not None and each.screen_id not in forms
    ]
    if not goals:
        return []
    led = Counter(each.to_screen for each in knowledge.transitions.values())
    public = {each.screen for each in knowledge.memberships if each.group == PUBLIC}
    goals.sort(key=lambda each: (each.screen_id in public, -led[each.screen_id]))
    goal = goals[min(1, len(goals) - 1)]
    inputs = [] if login is None else [each.name for each in login.io_spec.inputs if each.required]
    given = "".join(f" --input {name}=VALUE" for name in inputs)
    return [f"periplus run --goal {goal.screen_id}{given}"]


def _signing_in(by: str) -> str:
    """Return the sign-in options for the command; credentials are not stored."""
    if by.startswith("task "):
        return f" --sign-in {quote(by.removeprefix('task '))} --input NAME=VALUE"
    return {"form": " --sign-in-form --input NAME=VALUE", "storage state": " --storage-state FILE"}.get(
        by, ""
    )


def _say(console: Console, text: str, style: str = "") -> None:
    console.print(Text(text, style=style), soft_wrap=True)
