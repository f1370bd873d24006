"""Lists to choose from that an application draws itself: a control that opens a menu, and the entries of the menu."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from loaders.exploration_import.draft_routes import Arrival
from loaders.exploration_import.observed_transitions import PlacedControl
from loaders.exploration_import.screen_controls import ScreenControl
from loaders.exploration_import.task_drafts import DrawnList, action_of

MOST_CHOICES = 40


def list_choices(own: Iterable[PlacedControl]) -> tuple[PlacedControl, ...]:
    """Return the entries of a menu that can be chosen."""
    return tuple(filter(_is_choice, (each for each in own if each.screen.looks[0].page.layer == "menu")))[
        :MOST_CHOICES
    ]


def _is_choice(each: PlacedControl, *, in_rows: bool = False) -> bool:
    return (
        action_of(each) == "click"
        and each.control.called != ""
        and each.control.offer.danger not in ("deletes", "signs_out")
        and (in_rows or not each.element.selector.required_context)
    )


def find_drawn_lists(
    placed: Sequence[PlacedControl],
    arrivals: Sequence[Arrival],
    openings: Sequence[tuple[PlacedControl, str, str]],
    beside: Callable[[ScreenControl], str],
) -> dict[str, list[DrawnList]]:
    """Return the lists of each screen, by its id.

    A list is told by what happened: the control opened a menu, and its entries led nowhere else. The menu is a screen of its own,
    or a state of the control's. `openings`: the controls with the screen and the page to which they led; only the entries of that
    page are the list's, as a menu of one make may open in several places. `beside`: returns the words beside a control, by which it
    is called.
    """
    menus: dict[str, list[PlacedControl]] = defaultdict(list)
    for each in placed:
        menus[each.screen.screen_id].append(each)
    onward = {(each.screen.screen_id, each.element.element_id): to for each, to in arrivals}
    shown: dict[PlacedControl, dict[str, PlacedControl]] = defaultdict(dict)
    for opener, to_screen, page in openings:
        at = opener.screen.screen_id
        typed = action_of(opener) == "fill"
        for each in _list_choices_on(menus[to_screen], page, in_rows=typed):
            if onward.get((to_screen, each.element.element_id), at) == at:
                shown[opener][each.element.element_id] = each
    found: dict[str, dict[str, DrawnList]] = defaultdict(dict)
    for opener, choices in shown.items():
        entries = tuple(choices.values())[:MOST_CHOICES]
        rows = opener.element.selector.required_context
        typed = action_of(opener) == "fill"
        if typed:  # what is typed tells which
            entries = tuple(each for each in entries if each.element.selector.required_context)[:1] or entries
        if (
            (len(entries) > 1 or typed)
            and not rows
            and action_of(opener) in ("click", "fill")
            and opener.control.offer.href is None
        ):
            label = beside(opener.control) or opener.control.called or entries[0].screen.name
            found[opener.screen.screen_id].setdefault(
                opener.element.element_id, DrawnList(opener, entries, label)
            )
    return {screen: list(lists.values()) for screen, lists in found.items()}


def _list_choices_on(
    own: Iterable[PlacedControl], page_id: str, *, in_rows: bool
) -> tuple[PlacedControl, ...]:
    """Return the entries of a menu that lies on a page of their screen. `in_rows`: those too that their row tells."""
    shown = (
        each
        for each in own
        if any(look.page_id == page_id and look.page.layer == "menu" for look, _ in each.control.seen)
    )
    return tuple(each for each in shown if _is_choice(each, in_rows=in_rows))[:MOST_CHOICES]
