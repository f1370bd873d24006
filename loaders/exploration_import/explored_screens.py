"""Groups explored pages into screens, with signature, name and address."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import parse_qsl, urlsplit

from kb_schema.explorations import SHARED
from kb_schema.screens import Signature
from kb_schema.text_similarity import without_glyphs, words
from kb_schema.url_patterns import matches_pattern, origin_of, path_of
from loaders.exploration_import.explored_pages import ExploredPage
from loaders.exploration_import.readable_ids import to_id_words
from loaders.exploration_import.row_names import list_named_by_data
from loaders.exploration_import.screen_titles import titles_of
from loaders.exploration_import.site_roots import SiteRoot
from loaders.screen_learner.observed_pages import ObservedPage
from loaders.screen_learner.page_clusters import cluster_pages
from loaders.screen_learner.screen_names import choose_free_id
from loaders.screen_learner.signature_learner import learn_signatures
from loaders.screen_learner.url_patterns import (
    has_open_part,
    is_open,
    list_thing_names,
    names_one,
    pattern_of,
    place,
)

LONGEST_ENTRY = 30
"""The most characters of a menu entry that names a screen."""
LEAST_PLACES = 4
"""From more paths than these, its own among them, a link to a menu's page is shown."""
LEAST_BESIDE = 2
"""From so many pages beside that of an entry it is asked whether they show the menu."""
FEW_SCREENS = 3
"""The title of a page is on no more screens than these; else it is that of the site."""
_PARTS_OF_LISTS = frozenset(
    [
        "page",
        "paged",
        "p",
        "offset",
        "start",
        "limit",
        "per",
        "size",
        "from",
        "to",
        "since",
        "until",
        "date",
        "day",
        "week",
        "month",
        "year",
        "sort",
        "order",
        "step",
        "tab",
    ]
)
"""Words of parameters that choose a part of a list or an order, and no thing."""
DIALOGS = frozenset({"dialog", "alertdialog"})
ROUNDS = 4
"""How often it is tried whether dialogs and menus can be told from the pages on which they lie."""
OK, BAD = 200, 400
"""The HTTP status of a page, and the least one of an error."""
REFUSALS = {401: "Access denied", 403: "Access denied", 404: "Not found", 410: "Not found"}
"""The name of the screen of all pages with a status."""


@dataclass(frozen=True, slots=True, eq=False)
class ExploredScreen:
    """One screen and its pages."""

    screen_id: str
    name: str
    looks: tuple[ExploredPage, ...]
    signature: Signature | None = None
    """None if only its address identifies it."""
    patterns: tuple[str, ...] = ()
    evidence: str = ""
    in_section: bool = False
    """Whether what is open in its patterns is a section to which the site's menu leads, not one of many things."""

    @property
    def page_ids(self) -> tuple[str, ...]:
        """The ids of its pages."""
        return tuple(look.page_id for look in self.looks)

    @property
    def signed_in(self) -> bool:
        """Whether it was only seen signed in."""
        return all(look.page.signed_in for look in self.looks)

    @property
    def failed(self) -> bool:
        """Whether it is an error page."""
        return all(map(_is_refused, self.looks))

    @property
    def layer(self) -> str:
        """What it is, if it lies on other pages: a dialog, a menu or a panel."""
        kinds = {look.page.layer for look in self.looks}
        return kinds.pop() if len(kinds) == 1 else ""

    @property
    def asked_things(self) -> list[str]:
        """The parameters of its addresses that say which of many things a page shows: `title` of `index.php?title=Pier&action=edit`.

        All addresses have one, with values that differ, each an id or a name that its page says.
        """
        asked = [dict(parse_qsl(urlsplit(look.page.url).query)) for look in self.looks]
        shared = set(asked[0]).intersection(*asked)
        return sorted(
            name
            for name in shared
            if _PARTS_OF_LISTS.isdisjoint(words(name))
            and len({each[name] for each in asked}) > 1
            and all(
                names_one(each[name]) or _says(look, each[name])
                for look, each in zip(self.looks, asked, strict=True)
            )
        )

    @property
    def url(self) -> str | None:
        """The address that opens it, if that does not contain the id of one of many things.

        Of several addresses only that of a start page is one for all.
        """
        several = len({_bare(look) for look in self.looks}) > 1
        own = [look for look in self.looks if look.page.start] if several or self.asked_things else self.looks
        if self.failed or not own:
            return None
        by_url: dict[str, list[ExploredPage]] = defaultdict(list)
        for look in own:
            by_url[look.page.url.partition("#")[0] if "#/" not in look.page.url else look.page.url].append(
                look
            )
        opening = [url for url, looks in by_url.items() if _opens(looks)]
        fixed = self.in_section or all(look.page.start for look in own)
        one_of_many = any(map(has_open_part, self.patterns)) and not fixed
        if not opening or one_of_many or any(is_open(place(look.observed.path)) for look in own):
            return None
        return min(opening, key=lambda url: (len(url), url))


def build_screens(looks: Sequence[ExploredPage]) -> tuple[list[ExploredScreen], list[str]]:
    """Return the screens in the order in which they were found, and remarks on poorly identified ones."""
    root = SiteRoot.of(look.observed for look in looks if not _is_refused(look))
    seen = [root.page(look.observed) for look in looks]
    refused = _group_refused(looks)
    usual = [at for at, look in enumerate(looks) if not _is_refused(look)]
    linked, menu = (set(map(root.path, paths)) for paths in (_linked_paths(looks), _menu_paths(looks)))
    clusters = cluster_pages([seen[at] for at in usual], linked, menu)
    groups = _with_signed_out(looks, [[usual[at] for at in group] for group in clusters])
    groups = _with_states(looks, seen, groups)
    groups = _join_untold(looks, seen, groups)
    titles = _titles(looks, groups)
    groups, titles = [*groups, *refused.values()], [*titles, *refused]
    labelled = list(seen)
    names: dict[str, str] = {}
    for group, title in zip(groups, titles, strict=True):
        screen_id = choose_free_id(title, names)
        names[screen_id] = title
        for at in group:
            labelled[at] = replace(labelled[at], screen=screen_id)
    learned = learn_signatures(
        [*labelled, *_list_aliases(looks, labelled)], anywhere=_list_spread(looks, labelled)
    )
    things = list_thing_names([seen[at].path for at in group] for group in groups)
    found, remarks = [], []
    for screen_id, group in zip(names, groups, strict=True):
        screen = ExploredScreen(screen_id, names[screen_id], tuple(looks[at] for at in group))
        known = learned.learned.get(screen_id)
        if known is not None:
            found.append(
                replace(
                    screen,
                    signature=known.signature,
                    patterns=tuple(map(root.pattern, known.url_patterns)),
                    evidence=known.evidence,
                    in_section=_is_in_section(
                        {seen[at].path for at in group}, known.url_patterns, menu, things
                    ),
                )
            )
            continue
        reason = learned.refused[screen_id].reason
        pattern = _own_address(group, labelled)
        if pattern is None:
            remarks.append(
                f"{screen.name} is left out, nothing distinguishes it from other screens: {reason}"
            )
        else:
            remarks.append(f"{screen.name} is identified by its address only: {reason}")
            found.append(replace(screen, patterns=(root.pattern(pattern),), evidence="its address"))
    return found, remarks


def _is_in_section(
    paths: Collection[str],
    patterns: Collection[str],
    menu: Collection[str],
    things: Collection[tuple[str, ...]],
) -> bool:
    """Return whether the menu leads to the one address of a screen, or to a path above it behind which its patterns leave nothing
    open. A thing that has several screens (`things`) is no section, though a menu may list the things.
    """
    if len(paths) != 1:
        return False
    path = next(iter(paths)).partition("?")[0]
    if any(place(path)[: len(each)] == each for each in things):
        return False
    if path in menu or "#" in path:
        return path in menu
    parts = path.split("/")
    sections = ("/".join(parts[:most]) for most in range(len(parts) - 1, 1, -1))
    section = next((each for each in sections if not {each, f"{each}/"}.isdisjoint(menu)), None)
    return section is not None and not any(
        has_open_part(pattern, after=section.count("/")) for pattern in patterns
    )


def _list_aliases(looks: Sequence[ExploredPage], labelled: Sequence[ObservedPage]) -> list[ObservedPage]:
    """Return what lies on a page at the other routes of its document: the dialog of `/` lies on `/#/profile`, too.

    That is so if the page behind it was seen at both, and is one screen.
    """
    at = {look.page_id: number for number, look in enumerate(looks)}
    routes: dict[tuple[str | None, str], set[str]] = defaultdict(set)
    for each in labelled:
        if not each.layer:
            routes[each.screen, each.path.partition("#")[0]].add(each.path)
    found = []
    for look, each in zip(looks, labelled, strict=True):
        behind = at.get(look.page.behind or "")
        if each.layer and behind is not None and labelled[behind].screen != each.screen:
            others = routes[labelled[behind].screen, each.path.partition("#")[0]] - {each.path}
            found += [replace(each, path=path) for path in sorted(others)]
    return found


def _list_spread(looks: Sequence[ExploredPage], labelled: Sequence[ObservedPage]) -> set[str]:
    """Return the dialogs, menus and panels that lay on pages of two screens or more: they may lie on any page."""
    screens = {look.page_id: each.screen for look, each in zip(looks, labelled, strict=True)}
    below: dict[str, set[str | None]] = defaultdict(set)
    for look, each in zip(looks, labelled, strict=True):
        if each.screen is not None:
            below[each.screen].add(screens.get(look.page.behind or "") if each.layer else None)
    return {screen for screen, behind in below.items() if None not in behind and len(behind - {screen}) > 1}


def _is_refused(look: ExploredPage) -> bool:
    return (look.page.status or OK) >= BAD


def _group_refused(looks: Sequence[ExploredPage]) -> dict[str, list[int]]:
    """Return the pages that the site answered with an error, by name of the kind: they may be at any address."""
    found: dict[str, list[int]] = defaultdict(list)
    for at, look in enumerate(looks):
        if _is_refused(look):
            found[REFUSALS.get(look.page.status or BAD, "Error")].append(at)
    return found


def _with_signed_out(looks: Sequence[ExploredPage], groups: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the groups; what an address shows who is signed out belongs to the screen that it shows who is signed in, if both have one
    title that few others have: the same page without what only the others may do.
    """
    screen = _numbered(groups)
    titles = Counter(title for group in groups for title in {looks[at].page.title for at in group})
    inside = {
        (looks[at].observed.path, looks[at].page.title): number
        for at, number in screen.items()
        if looks[at].page.signed_in and not looks[at].page.layer
    }
    found: list[list[int]] = [[] for _ in groups]
    for at, number in screen.items():
        look = looks[at]
        own = inside.get((look.observed.path, look.page.title))
        moves = own is not None and not look.page.signed_in and not look.page.layer
        rare = bool(look.page.title) and titles[look.page.title] <= FEW_SCREENS
        found[own if own is not None and moves and rare else number].append(at)
    return sorted(sorted(group) for group in found if group)


def _with_states(
    looks: Sequence[ExploredPage], seen: Sequence[ObservedPage], groups: Sequence[Sequence[int]]
) -> list[list[int]]:
    """Return the groups; what lies on a page is a state of its screen if nothing tells the two apart, and so is what unfolded in
    it without a heading.
    """
    of = {looks[at].page_id: at for group in groups for at in group}
    found = _with_unfolded(looks, of, groups)
    for _ in range(ROUNDS):
        screen = {at: number for number, group in enumerate(found) for at in group}
        refused = _find_untold(looks, seen, screen)
        below = {
            at: screen[of[look.page.behind]]
            for at, look in enumerate(looks)
            if at in screen and look.observed.layer and look.page.behind in of
        }
        outside = {at: target for at, target in below.items() if target != screen[at]}
        joining = {at: target for at, target in outside.items() if screen[at] in refused}
        if not joining:  # what is left of a page that cannot be told lies on it
            joining = {at: target for at, target in outside.items() if target in refused}
        if not joining:
            break
        for at, target in joining.items():
            found[screen[at]].remove(at)
            found[target].append(at)
    return sorted(sorted(group) for group in found if group)


def _find_untold(
    looks: Sequence[ExploredPage], seen: Sequence[ObservedPage], screen: Mapping[int, int]
) -> dict[int, int | None]:
    """Return the groups, by number, that nothing tells from others, with the group that is the nearest if that is known.

    `screen`: the group of each page.
    """
    labelled = [replace(seen[at], screen=str(number)) for at, number in sorted(screen.items())]
    grouped = [looks[at] for at in sorted(screen)]
    pages, spread = [*labelled, *_list_aliases(grouped, labelled)], _list_spread(grouped, labelled)
    refused = learn_signatures(pages, anywhere=spread).refused
    return {int(each): int(why.rival) if why.rival else None for each, why in refused.items()}


def _join_untold(
    looks: Sequence[ExploredPage], seen: Sequence[ObservedPage], groups: Sequence[Sequence[int]]
) -> list[list[int]]:
    """Return the groups, each that cannot be told joined with the one that nothing tells it from: else it is left out of the map.

    That stays only if fewer pages cannot be told then.
    """
    found = [list(group) for group in groups]
    untold = _find_untold(looks, seen, _numbered(found))
    for _ in range(ROUNDS):
        joined = _with_rivals(found, untold)
        left = untold if joined == found else _find_untold(looks, seen, _numbered(joined))
        if _count_pages(joined, left) >= _count_pages(found, untold):
            break
        found, untold = joined, left
    return found


def _numbered(groups: Sequence[Sequence[int]]) -> dict[int, int]:
    return {at: number for number, group in enumerate(groups) for at in group}


def _count_pages(groups: Sequence[Sequence[int]], numbers: Collection[int]) -> int:
    return sum(len(groups[number]) for number in numbers)


def _with_rivals(groups: Sequence[Sequence[int]], untold: Mapping[int, int | None]) -> list[list[int]]:
    found = [list(group) for group in groups]
    for number, rival in untold.items():
        if rival is not None and found[number] and found[rival]:
            found[rival] += found[number]
            found[number] = []
    return sorted(sorted(group) for group in found if group)


def _with_unfolded(
    looks: Sequence[ExploredPage], of: Mapping[str, int], groups: Sequence[Sequence[int]]
) -> list[list[int]]:
    """Return the groups; what unfolded in the pages of one screen, without a heading of its own, belongs to that screen."""
    screen = {at: number for number, group in enumerate(groups) for at in group}
    found: list[list[int]] = [[] for _ in groups]
    for number, group in enumerate(groups):
        targets = {screen[_find_page_behind(looks, of, at)] for at in group}
        states = len(targets) == 1 and all(_has_unfolded(looks[at]) for at in group)
        found[targets.pop() if states else number].extend(group)
    return found


def _has_unfolded(look: ExploredPage) -> bool:
    return look.page.layer == "panel" and not _has_heading(look)


def _find_page_behind(looks: Sequence[ExploredPage], of: Mapping[str, int], at: int) -> int:
    """Return the page in which something unfolded, itself if that is not known."""
    page = at
    for _ in looks:
        behind = of.get(looks[page].page.behind or "")
        if behind is None or not _has_unfolded(looks[page]):
            break
        page = behind
    return page


def _titles(looks: Sequence[ExploredPage], groups: Sequence[Sequence[int]]) -> list[str]:
    layers = [_layer_title([looks[at] for at in group]) for group in groups]
    pages = [group for group, layer in zip(groups, layers, strict=True) if not layer]
    entries, tabs = _menu_entries(looks)
    told = titles_of(pages, [look.observed for look in looks], _row_names(looks), entries, tabs)
    names = iter(told)
    return [
        without_glyphs(name) or name
        for name in (
            (f"{layer} (dialog)" if layer in told else layer) if layer else next(names) for layer in layers
        )
    ]


def _layer_title(own: Sequence[ExploredPage]) -> str:
    """Return a name for what lies on pages and has no heading, its own or else from its first control; else nothing."""
    kinds = {look.page.layer for look in own}
    if "" in kinds or len(kinds) > 1 or any(_has_heading(look) for look in own):
        return ""
    called = set.intersection(*map(_list_dialog_names, own))
    if called:
        return min(called)
    names = [[without_glyphs(offer.name) for offer in look.page.offers if not offer.in_row] for look in own]
    shared = set.intersection(*map(set, names))
    told = [name for name in names[0] if name in shared and _is_entry(name)]
    return f"{kinds.pop().capitalize()} with {told[0]}" if told else ""


def _list_dialog_names(look: ExploredPage) -> set[str]:
    """Return the names of the open dialogs, without those of data."""
    signs = look.observed.profile.signs
    return {
        sign.text
        for sign in signs
        if sign.kind == "landmark" and sign.where in DIALOGS and _is_entry(sign.text)
    }


def _has_heading(look: ExploredPage) -> bool:
    return any(sign.startswith("heading ") for sign in look.observed.layer)


def _is_entry(name: str) -> bool:
    return any(character.isalpha() for character in name) and len(name) <= LONGEST_ENTRY


LEAST_TABBED = 3
"""The least number of addresses with a link that is an entry of their tabs."""


def _menu_entries(looks: Sequence[ExploredPage]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the entries of the site's menus, and its tabs, the commonest first: name -> the one path to which it leads.

    A menu is a landmark such as a navigation, or what most pages have. Tabs are what the page to which one leads has as others do.
    """
    paths: dict[str, set[str]] = defaultdict(set)
    shown: Counter[str] = Counter()
    below: defaultdict[str, set[str]] = defaultdict(set)
    """By name: the paths of the pages that have it outside of rows."""
    for look in looks:
        links = {
            (
                " ".join((offer.label or offer.name).split()),
                path_of(offer.href),
                offer.region.partition(":")[0] in SHARED,
                offer.in_row,
            )
            for offer in look.page.offers
            if offer.href and origin_of(offer.href) == origin_of(look.page.url)
        }
        for name, path, in_menu, in_row in sorted(links):
            if _is_entry(name):
                paths[name].add(path)
                shown[name] += len(looks) if in_menu else 1
                if not in_row:
                    below[name].add(path_of(look.page.url))
    leading = {name: next(iter(paths[name])) for name, _times in shown.most_common() if len(paths[name]) == 1}
    menu = {name: path for name, path in leading.items() if shown[name] > len(looks) / 2}
    tabs = {
        name: path
        for name, path in leading.items()
        if name not in menu and path in below[name] and len(below[name]) >= LEAST_TABBED
    }
    return menu, tabs


def _menu_paths(looks: Sequence[ExploredPage]) -> set[str]:
    """Return the paths to which menus lead: other pages have a link to them, and they have one to themselves, or a menu that opens
    in a landmark for all pages has it.

    A thing whose tabs lead to itself, and to which lists on several pages lead, is no entry: the other things beside it do not
    show it.
    """
    shown: dict[str, set[str]] = defaultdict(set)
    opened: set[str] = set()
    beside: dict[tuple[str, ...], set[tuple[str, ...]]] = defaultdict(set)
    for look in looks:
        here = path_of(look.page.url)
        beside[_parts(here)[:-1]].add(_parts(here))
        for offer in look.page.offers:
            if (
                offer.href is not None
                and not offer.in_row
                and origin_of(offer.href) == origin_of(look.page.url)
            ):
                shown[path_of(offer.href)].add(here)
                if look.page.layer == "menu" and offer.region.partition(":")[0] in SHARED:
                    opened.add(path_of(offer.href))
    return opened | {
        path
        for path, where in shown.items()
        if path in where and _are_many_places(path, where) and _is_shown_beside(path, where, beside)
    }


def _are_many_places(path: str, where: Collection[str]) -> bool:
    """Return whether a menu's entry is shown at enough places: a list with other sorting is one, unless one file shows everything."""
    places = {_parts(each) for each in where}
    return len(where if places == {_parts(path)} else places) > LEAST_PLACES


def _is_shown_beside(
    path: str, where: Collection[str], beside: Mapping[tuple[str, ...], Collection[tuple[str, ...]]]
) -> bool:
    """Return whether half of the pages whose addresses differ from a path in its last part have a link to it, if there are two."""
    others = set(beside[_parts(path)[:-1]]) - {_parts(path)}
    showing = others & {_parts(each) for each in where}
    return len(others) < LEAST_BESIDE or len(showing) * 2 >= len(others)


def _parts(path: str) -> tuple[str, ...]:
    """Return the parts of a path without its query."""
    before, mark, fragment = path.partition("#")
    return tuple(part for part in f"{before.partition('?')[0]}{mark}{fragment}".split("/") if part)


def _linked_paths(looks: Sequence[ExploredPage]) -> set[str]:
    """Return the paths of the site to which links outside of its menus lead."""
    return {
        path_of(offer.href)
        for look in looks
        for offer in look.page.offers
        if offer.href is not None
        and offer.region.partition(":")[0] not in SHARED
        and origin_of(offer.href) == origin_of(look.page.url)
    }


def _row_names(looks: Sequence[ExploredPage]) -> set[str]:
    """Return the labels of links to one of many things: those in rows, and others that are in no menu."""
    menu, _tabs = _menu_entries(looks)
    names: set[str] = set()
    for look in looks:
        data = (each for same in list_named_by_data(look.page.offers) for each in same)
        names.update(" ".join(each.name.split()) for each in data)
        for offer in look.page.offers:
            parts = [] if offer.href is None else [part for part in place(path_of(offer.href)) if part]
            name = " ".join(offer.name.split())
            if is_open(tuple(parts)) and (offer.in_row or (is_open(tuple(parts[-1:])) and name not in menu)):
                names.add(name)
    return names


def _own_address(group: Sequence[int], labelled: Sequence[ObservedPage]) -> str | None:
    """Return a pattern that no page of another screen matches."""
    pattern = pattern_of(labelled[at].path for at in group)
    inside = set(group)
    if pattern is None or any(
        matches_pattern(pattern, page.path) for at, page in enumerate(labelled) if at not in inside
    ):
        return None
    return pattern


def _opens(looks: Sequence[ExploredPage]) -> bool:
    """Return whether an address opens one of these pages.

    That was tried, or the site answered with one and nothing contradicts it.
    """
    tried = [look.page.openable for look in looks]
    if any(tried) or any(look.page.start for look in looks):
        return True
    return None in tried and any(look.page.status == OK for look in looks)


def _says(look: ExploredPage, name: str) -> bool:
    """Return whether the title or a heading of a page has a name that stands in its address."""
    plain = to_id_words(name)
    said = (
        to_id_words(text)
        for (kind, _), texts in look.observed.profile.texts.items()
        for text in texts
        if kind in ("title", "heading")
    )
    return bool(plain) and any(f"_{plain}_" in f"_{text}_" for text in said)


def _bare(look: ExploredPage) -> str:
    """Return the path, with the route in the fragment if there is one."""
    parts = urlsplit(look.observed.path)
    route = parts.fragment.partition("?")[0] if parts.fragment.startswith(("/", "!/")) else ""
    return f"{parts.path}#{route}" if route else parts.path
