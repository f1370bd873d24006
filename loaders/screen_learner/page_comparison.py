"""Compares variants of pages: whether they have one use, offer the same, or say another thing."""

from __future__ import annotations

from loaders.screen_learner.page_variants import PageVariant, role_similarity, share_of

SAME_TOOLS = 0.7
"""The share of common fields, columns and buttons from which two names are of one kind."""
SAME_BUILD = 0.7
"""The same for the nesting of elements."""
SAME_LOOK = 0.95
"""The same for all features, if equal pages at two places are one screen."""
_OFFERED = frozenset({"label", "field", "control"})


def offers_a_part(one: PageVariant, other: PageVariant) -> bool:
    """Return whether one page offers all that the other does."""
    first, second = (frozenset(role for role in look.tools if role[0] in _OFFERED) for look in (one, other))
    return one.error == other.error and (first <= second or second <= first)


def say_another_thing(one: PageVariant, other: PageVariant) -> bool:
    """Return whether each of two pages has a name that the other has not."""
    return bool(one.called - other.called) and bool(other.called - one.called)


def are_two_entries(one: PageVariant, other: PageVariant) -> bool:
    """Return whether menus lead to two pages that are called differently: they are no articles of one kind."""
    return one.in_menu and other.in_menu and one.called != other.called


def are_of_one_kind(one: PageVariant, other: PageVariant) -> bool:
    """Return whether two pages show things of one kind: they have one use, and no menu tells them apart."""
    if one.error != other.error or are_two_entries(one, other):
        return False
    if one.in_menu is not other.in_menu and one.called != other.called and not _has_own_tools(one, other):
        return False
    return have_one_use(one, other)


def offer_one_use(one: PageVariant, other: PageVariant) -> bool:
    """Return whether the actions of two pages are alike, and their nesting, if they have none of their own."""
    return (
        one.error == other.error
        and role_similarity(one.tools, other.tools) >= SAME_TOOLS
        and (_has_own_tools(one, other) or share_of(one.built, other.built) >= SAME_BUILD)
    )


def have_one_use(one: PageVariant, other: PageVariant) -> bool:
    """Return whether actions and nesting of two pages are alike."""
    return (
        one.error == other.error
        and share_of(one.built, other.built) >= SAME_BUILD
        and (role_similarity(one.tools, other.tools) >= SAME_TOOLS or _differ_in_labels(one, other))
    )


def _has_own_tools(*looks: PageVariant) -> bool:
    """Return whether a page has two fields, columns or buttons beside those of its part of the site: those say nothing about it."""
    return any(len(look.tools - look.usual) > 1 for look in looks)


def _differ_in_labels(one: PageVariant, other: PageVariant) -> bool:
    """Return whether two pages have the same fields by name, and are built alike: labels of boxes may be data, such as people."""
    first, second = (frozenset(role for role in look.tools if role[0] != "label") for look in (one, other))
    return (
        first == second
        and any(role[0] == "field" for role in first)
        and share_of(one.built, other.built) >= SAME_LOOK
    )


def offer_the_same(one: PageVariant, other: PageVariant) -> bool:
    """Return whether two pages have the same fields and buttons. Tables and sections may be part of an article."""
    first, second = (frozenset(role for role in look.tools if role[0] in _OFFERED) for look in (one, other))
    return one.error == other.error and role_similarity(first, second) >= SAME_TOOLS
