"""What many screens share: the controls of a landmark that nearly all who have it show."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from loaders.cartography.controls import Control, Key
from loaders.cartography.wording import free, words_of

SHARED = 0.8
"""Share of the screens with a landmark that show a control of it, if the control is of the landmark."""
LEAST_SCREENS = 2
LEAST_WITHOUT_LANDMARK = 3
"""Where no landmark says that it is of the frame, all nearly all screens of the site have to have it."""
COMMON = "common"
NAVIGATION = "navigation"
_FRAME = frozenset({NAVIGATION, "banner", "contentinfo", "complementary", "menubar", "search"})
"""Landmarks of the site; what is in others (a region of a form, a dialog) is of the page."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The shared controls of one landmark."""

    layout_id: str
    controls: tuple[Control, ...]
    screens: frozenset[str]
    region: str
    """The landmark; nothing where there is none."""

    @property
    def navigation(self) -> bool:
        """Whether one finds one's way by it."""
        return self.region.startswith(NAVIGATION)


def layouts_of(controls: Mapping[str, Sequence[Control]]) -> list[Layout]:
    """The layouts of the site, from the controls of each screen."""
    by_region: dict[str, dict[str, dict[Key, Control]]] = defaultdict(lambda: defaultdict(dict))
    for screen_id, own in controls.items():
        for control in own:
            if not control.in_rows and control.lasting:
                by_region[_frame(control.region)][screen_id][control.key] = control
    found: list[Layout] = []
    for region, screens in by_region.items():
        least = LEAST_SCREENS if region else LEAST_WITHOUT_LANDMARK
        of = len(screens) if region else len(controls)
        shown: dict[Key, list[str]] = defaultdict(list)
        for screen_id, own_by_key in screens.items():
            for key in own_by_key:
                shown[key].append(screen_id)
        shared = {key: ids for key, ids in shown.items() if len(ids) >= max(least, SHARED * of)}
        if not shared:
            continue
        together = tuple(_together([screens[each][key] for each in ids]) for key, ids in shared.items())
        having = frozenset(each for each in screens if _has(screens[each], shared))
        taken = {layout.layout_id for layout in found}
        found.append(Layout(free(_id_of(region), taken), together, having, region))
    return found


def _has(own: Mapping[Key, Control], shared: Mapping[Key, object]) -> bool:
    """Whether a screen shows most of what is shared."""
    return sum(key in own for key in shared) >= SHARED * len(shared)


def _frame(region: str) -> str:
    """The landmark, where it is of the frame of the site."""
    return region if region.partition(":")[0] in _FRAME else ""


def _together(same: Sequence[Control]) -> Control:
    first = same[0]
    seen = tuple(each for control in same for each in control.seen)
    return Control(first.key, seen, sum(control.pages for control in same))


def _id_of(region: str) -> str:
    kind, _, name = region.partition(":")
    said = "_".join(part for part in (words_of(name), words_of(kind)) if part)
    return said if said[:1].isalpha() else COMMON
