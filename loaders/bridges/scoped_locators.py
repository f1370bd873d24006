"""Writes a chain of Playwright locators as one XPath, so that an element stays the one in its container.

Names are compared as Playwright does: without case and as a part, unless `exact`. What XPath cannot see (shadow roots, names from
CSS) finds nothing rather than something else. Places (`nth`, `first`, `last`) are not written: they count what is visible.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from pydantic import JsonValue

from kb_schema.locator_expressions import Expression, LocatorLink
from kb_schema.templates import xpath_literal

LONGEST = 3_900
"""Characters of an XPath."""
_NO_TEXT_BOX = " or ".join(
    f"@type='{each}'"
    for each in (
        "button",
        "checkbox",
        "file",
        "hidden",
        "image",
        "number",
        "radio",
        "range",
        "reset",
        "search",
        "submit",
    )
)
_PRESSED = " or ".join(f"@type='{each}'" for each in ("button", "submit", "reset", "image"))
_ROLES: Mapping[str, str] = {
    "article": "self::article",
    "banner": "self::header",
    "button": f"self::button or self::summary or self::input[{_PRESSED}]",
    "cell": "self::td",
    "checkbox": "self::input[@type='checkbox']",
    "columnheader": "self::th",
    "combobox": "self::select[not(@multiple)]",
    "complementary": "self::aside",
    "contentinfo": "self::footer",
    "dialog": "self::dialog",
    "form": "self::form",
    "group": "self::fieldset",
    "heading": " or ".join(f"self::h{level}" for level in range(1, 7)),
    "img": "self::img",
    "link": "self::a[@href] or self::area[@href]",
    "list": "self::ul or self::ol",
    "listbox": "self::select[@multiple]",
    "listitem": "self::li",
    "main": "self::main",
    "navigation": "self::nav",
    "option": "self::option",
    "paragraph": "self::p",
    "radio": "self::input[@type='radio']",
    "region": "self::section",
    "row": "self::tr",
    "rowheader": "self::th",
    "searchbox": "self::input[@type='search']",
    "spinbutton": "self::input[@type='number']",
    "table": "self::table",
    "textbox": f"self::textarea or self::input[not({_NO_TEXT_BOX})]",
    **dict.fromkeys(
        (
            "alert",
            "alertdialog",
            "feed",
            "grid",
            "gridcell",
            "menu",
            "menubar",
            "menuitem",
            "menuitemcheckbox",
        ),
        "",
    ),
    **dict.fromkeys(
        ("menuitemradio", "radiogroup", "rowgroup", "search", "slider", "status", "switch", "tab", "tablist"),
        "",
    ),
    **dict.fromkeys(("tabpanel", "toolbar", "tooltip", "tree", "treegrid", "treeitem"), ""),
}
"""Role -> the tags that have it without saying so."""
_LABELLED = frozenset(
    {"checkbox", "combobox", "listbox", "radio", "searchbox", "spinbutton", "textbox", "switch", "slider"}
)
"""Roles that a label names."""
_NAMED_BY_CONTENT = frozenset(
    {
        "button", "cell", "columnheader", "gridcell", "heading", "link", "menuitem", "menuitemcheckbox", "menuitemradio",
        "option", "row", "rowheader", "tab", "tooltip", "treeitem",
    }
)  # fmt: skip
_CAPTIONS = {"group": "./legend", "table": "./caption"}
_UNREAD = "self::script or self::style or self::noscript or self::head or self::title"
_SPECIAL = re.compile(r"[\\^$.|?*+(){}\[\]]")
"""The characters that make a pattern more than a text."""
_IDENT = r"(?:\\.|[\w-])+"
_CSS_PART = re.compile(
    rf"""\#(?P<id>{_IDENT})|\.(?P<cls>{_IDENT})|(?P<tag>\*|[A-Za-z][\w-]*)"""
    rf"""|\[\s*(?P<attribute>[\w:-]+)\s*(?:(?P<operator>[*^~]?=)\s*(?P<value>"(?:\\.|[^"])*"|'(?:\\.|[^'])*'|[\w-]+)\s*)?\]"""
    r"""|:has-text\(\s*(?P<text>"(?:\\.|[^"])*"|'(?:\\.|[^'])*')\s*\)|:nth-child\(\s*(?P<child>\d+)\s*\)"""
    r"""|:nth-of-type\(\s*(?P<of_type>\d+)\s*\)|(?P<descent>\s*>\s*|\s+)"""
)


class Unwritable(ValueError):
    """No XPath for this locator. The text says why, for people."""


def to_scoped_xpath(links: Expression) -> str:
    """Return the XPath of a chain of locators. Raises `Unwritable`."""
    path = ""
    for link in links:
        path = _WRITERS[link.method](path, link) if link.method in _WRITERS else _refuse(link)
    if len(path) > LONGEST:
        raise Unwritable("it is too long")
    return path


def _refuse(link: LocatorLink) -> str:
    raise Unwritable(f"`{link.method}` depends on what else is on the page")


# -- texts ---------------------------------------------------------------------------------------------


def _same(text: str, expression: str, *, exact: bool) -> str:
    """Return the condition that an expression has this text: as a whole, or a part of it in any case."""
    plain = " ".join(text.split())
    if not plain:
        raise Unwritable("it has an empty text")
    if exact:
        return f"normalize-space({expression})={xpath_literal(plain)}"
    pairs = {
        upper: lower
        for char in plain
        if len(upper := char.upper()) == len(lower := char.lower()) == 1 and upper != lower
    }
    above, below = xpath_literal("".join(pairs)), xpath_literal("".join(pairs.values()))
    lowered = "".join(pairs.get(char, char) for char in plain)
    whole = f"normalize-space({expression})"
    return (
        f"contains({f'translate({whole}, {above}, {below})' if pairs else whole}, {xpath_literal(lowered)})"
    )


def _given(link: LocatorLink) -> str:
    given = link.arguments[0] if link.arguments else None
    if not isinstance(given, str):
        raise Unwritable(f"the argument of `{link.method}` is not a literal")
    return given


def _exact(link: LocatorLink, *others: str) -> bool:
    unknown = [name for name in link.keywords if name not in ("exact", *others)]
    if unknown:
        raise Unwritable(f"`{', '.join(unknown)}` depends on what else is on the page")
    return link.keywords.get("exact") is True


# -- one link each -------------------------------------------------------------------------------------


def _by_role(path: str, link: LocatorLink) -> str:
    role, exact, name = _given(link), _exact(link, "name"), link.keywords.get("name")
    if role not in _ROLES:
        raise Unwritable(f"the role {role!r} in a container is not known")
    tags = f" or (not(@role) and ({_ROLES[role]}))" if _ROLES[role] else ""
    step = f"{path}//*[@role={xpath_literal(role)}{tags}]"
    if name is None:
        return step
    if not isinstance(name, str):
        raise Unwritable("its name is a pattern")
    return f"{step}[{_named(role, name, exact=exact)}]"


def _named(role: str, name: str, *, exact: bool) -> str:
    """Return the condition that an element of a role is called so."""

    def same(expression: str) -> str:
        return _same(name, expression, exact=exact)

    title = f"{same('@title')} and not(normalize-space(.))"
    if role in _LABELLED:
        own = f"@id=//label[{same('.')}]/@for or ancestor::label[{same('.')}] or {same('@placeholder')}"
    elif role in _NAMED_BY_CONTENT:
        own = f"{same('.')} or .//img[{same('@alt')}] or self::input[{same('@value')} or {same('@alt')}] or {title}"
    elif role == "img":
        own = same("@alt")
    else:
        own = f"{_CAPTIONS[role]}[{same('.')}] or {title}" if role in _CAPTIONS else same("@title")
    by_other = f"@aria-labelledby=//*[{same('.')}]/@id"
    return f"{same('@aria-label')} or {by_other} or (not(@aria-label) and not(@aria-labelledby) and ({own}))"


def _by_text(path: str, link: LocatorLink) -> str:
    condition = _same(_given(link), ".", exact=_exact(link))
    pressed = (
        f"self::input[@type='button' or @type='submit'][{_same(_given(link), '@value', exact=_exact(link))}]"
    )
    return f"{path}//*[not({_UNREAD}) and (({condition} and not(./*[{condition}])) or {pressed})]"


def _by_label(path: str, link: LocatorLink) -> str:
    name, exact = _given(link), _exact(link)
    label, said = f"label[{_same(name, '.', exact=exact)}]", _same(name, "@aria-label", exact=exact)
    fields = "self::input or self::textarea or self::select"
    by_other = f"@aria-labelledby=//*[{_same(name, '.', exact=exact)}]/@id"
    return f"{path}//*[{said} or {by_other} or (({fields}) and (@id=//{label}/@for or ancestor::{label}))]"


def _by_attribute(attribute: str) -> Callable[[str, LocatorLink], str]:
    return lambda path, link: f"{path}//*[{_same(_given(link), f'@{attribute}', exact=_exact(link))}]"


def _by_test_id(path: str, link: LocatorLink) -> str:
    return f"{path}//*[@data-testid={xpath_literal(_given(link))}]"


def _located(path: str, link: LocatorLink) -> str:
    value = _given(link)
    if value.startswith(("xpath=", "//", "..")):
        inner = value.removeprefix("xpath=")
        if not re.match(r"//|\.\.(?:/|$)", inner) or "|" in inner:
            raise Unwritable("its XPath is not written from the container")
        found = f"{path}{inner}" if inner.startswith("//") else f"{path}/{inner}"
    elif ">>" in value or re.match(r"[a-z_:-]+=", value.removeprefix("css=")):
        raise Unwritable(f"{value[:80]!r} is Playwright's own syntax")
    else:
        found = f"{path}{_from_css(value.removeprefix('css='))}"
    return _filtered(found, link)


def _filtered(path: str, link: LocatorLink) -> str:
    """Add the conditions of `filter(has_text=...)`."""
    for name, value in link.keywords.items():
        if name not in ("has_text", "has_not_text"):
            raise Unwritable(f"`{name}` depends on what else is on the page")
        text, exact = (value, False) if isinstance(value, str) else read_pattern(value) or (None, False)
        if text is None:
            raise Unwritable("its text is a pattern")
        condition = _same(text, ".", exact=exact)
        path += f"[{condition if name == 'has_text' else f'not({condition})'}]"
    return path


def read_pattern(given: JsonValue) -> tuple[str, bool] | None:
    """Return the text of a pattern that only matches a text, and whether it is the whole text; else None.

    `re.compile("sign in", re.I)` is `sign in`, because Playwright compares texts case-insensitively and by substring;
    `^Save$` is a whole text.
    """
    if not isinstance(given, dict):
        return None
    pattern = str(given.get("regex", ""))
    inner = pattern.removeprefix("^").removesuffix("$")
    whole = pattern == f"^{inner}$" and not given.get("flags")
    if not inner or _SPECIAL.search(re.sub(r"\\[^A-Za-z0-9]", "", inner)) or (inner != pattern and not whole):
        return None
    return re.sub(r"\\([^A-Za-z0-9])", r"\1", inner), whole


_WRITERS: Mapping[str, Callable[[str, LocatorLink], str]] = {
    "filter": lambda path, link: _filtered(path, link) if path and not link.arguments else _refuse(link),
    "get_by_alt_text": _by_attribute("alt"),
    "get_by_label": _by_label,
    "get_by_placeholder": _by_attribute("placeholder"),
    "get_by_role": _by_role,
    "get_by_test_id": _by_test_id,
    "get_by_text": _by_text,
    "get_by_title": _by_attribute("title"),
    "locator": _located,
}


# -- CSS -----------------------------------------------------------------------------------------------


def _from_css(css: str) -> str:
    """Return the XPath of simple CSS. Raises `Unwritable`."""
    written, at, tag, conditions, axis = "", 0, "*", list[str](), "//"
    while at < len(css.strip()):
        match = _CSS_PART.match(css.strip(), at)
        if match is None:
            raise Unwritable(f"{css[:80]!r} in a container is not simple CSS")
        at = match.end()
        if match["descent"] is not None:
            written += f"{axis}{tag}{''.join(conditions)}"
            tag, conditions, axis = "*", [], "/" if ">" in match["descent"] else "//"
        elif match["tag"]:
            tag = match["tag"].lower()
        else:
            conditions.append(f"[{_css_condition(match, tag)}]")
    return f"{written}{axis}{tag}{''.join(conditions)}"


def _css_condition(match: re.Match[str], tag: str) -> str:  # noqa: PLR0911 - one for each kind
    if match["id"]:
        return f"@id={xpath_literal(_unescaped(match['id']))}"
    if match["cls"]:
        among = xpath_literal(f" {_unescaped(match['cls'])} ")
        return f"contains(concat(' ', normalize-space(@class), ' '), {among})"
    if match["text"]:
        return _same(_unescaped(match["text"][1:-1]), ".", exact=False)
    if match["child"]:
        return f"count(preceding-sibling::*)={int(match['child']) - 1}"
    if match["of_type"]:
        if tag == "*":
            raise Unwritable("`:nth-of-type` without a tag is not simple CSS")
        return f"count(preceding-sibling::{tag})={int(match['of_type']) - 1}"
    name, value = f"@{match['attribute']}", match["value"]
    if value is None:
        return name
    literal = xpath_literal(_unescaped(value[1:-1] if value[:1] in "\"'" else value))
    match match["operator"]:
        case "*=":
            return f"contains({name}, {literal})"
        case "^=":
            return f"starts-with({name}, {literal})"
        case "~=":
            return f"contains(concat(' ', normalize-space({name}), ' '), concat(' ', {literal}, ' '))"
    return f"{name}={literal}"


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)
