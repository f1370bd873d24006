"""Finds layouts: the controls of a landmark that nearly all screens with it show."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from loaders.exploration_import.readable_ids import make_unique_id, to_id_words
from loaders.exploration_import.screen_controls import ControlKey, ScreenControl

SHARED = 0.8
"""The share of the screens with a landmark that show a control of the layout."""
LEAST_SCREENS = 2
LEAST_WITHOUT_LANDMARK = 3
"""The least number of screens for a layout without a landmark, which nearly all screens must have."""
COMMON = "common"
NAVIGATION = "navigation"
_FRAME = frozenset({NAVIGATION, "banner", "contentinfo", "complementary", "menubar", "search"})
"""Landmarks of the site; those of others (a region of a form, a dialog) belong to the page."""


@dataclass(frozen=True, slots=True)
class SharedLayout:
    """The shared controls of one landmark."""

    layout_id: str
    controls: tuple[ScreenControl, ...]
    screens: frozenset[str]
    region: str
    """The landmark; empty if there is none."""

    @property
    def navigation(self) -> bool:
        """Whether it is a navigation."""
        return self.region.startswith(NAVIGATION)


def layouts_of(controls: Mapping[str, Sequence[ScreenControl]]) -> list[SharedLayout]:
    """Return the layouts of the site, from the controls of each screen."""
    by_region: dict[str, dict[str, dict[ControlKey, ScreenControl]]] = defaultdict(lambda: defaultdict(dict))
    for screen_id, own in controls.items():
        for control in own:
            if not control.in_rows and control.lasting:
                by_region[_frame(control.region)][screen_id][control.key] = control
    found: list[SharedLayout] = []
    for region, screens in by_region.items():
        least = LEAST_SCREENS if region else LEAST_WITHOUT_LANDMARK
        of = len(screens) if region else len(controls)
        shown: dict[ControlKey, list[str]] = defaultdict(list)
        for screen_id, own_by_key in screens.items():
            for key in own_by_key:
                shown[key].append(screen_id)
        shared = {key: ids for key, ids in shown.items() if len(ids) >= max(least, SHARED * of)}
        if not shared:
            continue
        together = tuple(_together([screens[each][key] for each in ids]) for key, ids in shared.items())
        having = frozenset(each for each in screens if _has(screens[each], shared))
        taken = {layout.layout_id for layout in found}
        found.append(SharedLayout(make_unique_id(_id_of(region), taken), together, having, region))
    return found


def _has(own: Mapping[ControlKey, ScreenControl], shared: Mapping[ControlKey, object]) -> bool:
    """Return whether a screen shows most of the layout."""
    return sum(key in own for key in shared) >= SHARED * len(shared)


def _frame(region: str) -> str:
    """Return the landmark if it belongs to the site; else an empty text."""
    return region if region.partition(":")[0] in _FRAME else ""


def _together(same: Sequence[ScreenControl]) -> ScreenControl:
    first = same[0]
    seen = tuple(each for control in same for each in control.seen)
    return ScreenControl(first.key, seen, sum((Counter(control.pages) for control in same), Counter()))


def _id_of(region: str) -> str:
    kind, _, name = region.partition(":")
    words = "_".join(part for part in (to_id_words(name), to_id_words(kind)) if part)
    return words if words[:1].isalpha() else COMMON
