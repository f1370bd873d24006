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
    return tuple(
        each
        for each in own
        if each.screen.looks[0].page.layer == "menu"
        and action_of(each) == "click"
        and each.control.called
        and each.control.offer.danger not in ("deletes", "signs_out")
        and not each.element.selector.required_context
    )[:MOST_CHOICES]


def find_drawn_lists(
    placed: Sequence[PlacedControl], arrivals: Sequence[Arrival], beside: Callable[[ScreenControl], str]
) -> dict[str, list[DrawnList]]:
    """Return the lists of each screen, by its id. `beside`: returns the words beside a control, by which it is called.

    A list is told by what happened: the control opened a menu, and its entries led nowhere else.
    """
    menus: dict[str, list[PlacedControl]] = defaultdict(list)
    for each in placed:
        menus[each.screen.screen_id].append(each)
    onward = {(each.screen.screen_id, each.element.element_id): to for each, to in arrivals}
    found: dict[str, dict[str, DrawnList]] = defaultdict(dict)
    for opener, to_screen in arrivals:
        at = opener.screen.screen_id
        rows = opener.element.selector.required_context
        entries = tuple(
            each
            for each in list_choices(menus[to_screen])
            if onward.get((to_screen, each.element.element_id), at) == at
        )
        if (
            len(entries) > 1
            and not rows
            and action_of(opener) == "click"
            and opener.control.offer.href is None
        ):
            label = beside(opener.control) or opener.control.called or entries[0].screen.name
            found[at].setdefault(opener.element.element_id, DrawnList(opener, entries, label))
    return {screen: list(lists.values()) for screen, lists in found.items()}
