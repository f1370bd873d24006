"""Reads the locators of Selenium: `id=`, `name=`, `css=`, `xpath=`, `linkText=`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kb_schema.selectors import NameStrategy, Strategy, ValueStrategy
from kb_schema.templates import css_string, xpath_literal
from loaders.recordings.recorded_targets import LONGEST_TARGET, RecordedTargets


def read_locator(locator: str, told: RecordedTargets) -> Iterator[Strategy]:
    """Yield the strategy of a Selenium locator, none if it is not one; `told` takes what it says of the element."""
    if locator.startswith(("//", "(//")):
        locator = f"xpath={locator}"
    kind, equals, value = locator.partition("=")
    writer = _LOCATORS.get(kind)
    if equals and 0 < len(value) <= LONGEST_TARGET and writer is not None:
        yield writer(value, told)


def _by_id(value: str, told: RecordedTargets) -> Strategy:
    told.attributes.setdefault("id", value)
    return ValueStrategy(type="id", value=value)


def _by_name(value: str, told: RecordedTargets) -> Strategy:
    told.attributes.setdefault("name", value)
    return ValueStrategy(type="css", value=f"[name={css_string(value)}]")


def _by_css(value: str, told: RecordedTargets) -> Strategy:
    told.read_css(value)
    return ValueStrategy(type="css", value=value)


def _by_xpath(value: str, told: RecordedTargets) -> Strategy:
    told.read_xpath(value)
    return ValueStrategy(type="xpath", value=value)


def _by_link(value: str, told: RecordedTargets) -> Strategy:
    told.words.append(value)
    told.tags.append("a")
    return NameStrategy(type="role_name", role="link", name=value, exact=True)


def _by_link_part(value: str, told: RecordedTargets) -> Strategy:
    told.texts.append(value)
    told.tags.append("a")
    return NameStrategy(type="role_name", role="link", name=value)


_LOCATORS: dict[str, Callable[[str, RecordedTargets], Strategy]] = {
    "id": _by_id,
    "name": _by_name,
    "css": _by_css,
    "xpath": _by_xpath,
    "linkText": _by_link,
    "link": _by_link,
    "partialLinkText": _by_link_part,
}


def list_first_of_several(locator: str) -> Iterator[Strategy]:
    """Yield the XPath of the first element that a locator finds: Selenium takes it where there are several."""
    kind, _, value = (
        locator.partition("=") if not locator.startswith(("//", "(//")) else ("xpath", "", locator)
    )
    path = {
        "id": f"//*[@id={xpath_literal(value)}]",
        "name": f"//*[@name={xpath_literal(value)}]",
        "linkText": f"//a[normalize-space(.)={xpath_literal(value)}]",
        "link": f"//a[normalize-space(.)={xpath_literal(value)}]",
        "partialLinkText": f"//a[contains(normalize-space(.), {xpath_literal(value)})]",
        "xpath": value,
    }.get(kind)
    if path:
        yield ValueStrategy(type="xpath", value=f"({path})[1]")
