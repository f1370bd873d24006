"""Templates: `{x}` in step parameters and narration, `{{x}}` in selectors.

Filling is one pass: a `{y}` inside a value is never expanded. A value in a selector is escaped for its
language, so `O'Brien` and `"x"` work.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal
from urllib.parse import quote, quote_plus

import re2

from kb_schema.text_similarity import SMALL_WORDS

_VARIABLE = re.compile(r"(?<!\{)\{([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*)\}(?!\})")
_PARAMETER = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*(?:\|\s*(?:given_)?words\s*)?\}\}")
_QUOTED_PARAMETER = re.compile(
    r"(?P<quote>['\"])(?P<inside>[^'\"]*)(?P=quote)|\{\{\s*\w+\s*(?:\|\s*(?P<words>(?:given_)?words)\s*)?\}\}"
)
_OPTIONAL = re.compile(r"\{\{\s*(\w+)\s*\|\s*given_words\s*\}\}")
MOST_WORDS = 12
"""Words of a value by which an element is found, at most."""
_WORD = re.compile(r"[^\W_]+")
_POSSESSIVE = re.compile(r"['\u2019]s\b")
_CAPITALS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_MARKS = '\u2019!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~\u2022\u00b7\u2013\u2014\u2026\u201c\u201d\u00ab\u00bb'
_UNTELLING = SMALL_WORDS | {"by", "from", "as", "his", "her", "its", "their", "our"}
_WORDS_OF_TEXT = (
    f"concat(' ', translate(translate(normalize-space(.), '{_CAPITALS}{_MARKS}', "
    f"'{_CAPITALS.lower()}{' ' * len(_MARKS)}'), \"'\", ' '), ' ')"
)
"""XPath: the text of a node in small letters, each word between spaces."""


class MissingVariable(KeyError):
    """A template names a variable that has no value."""

    def __init__(self, name: str, template: str) -> None:
        self.name, self.template = name, template
        super().__init__(f"no value for {{{name}}} in {template!r}")

    def __str__(self) -> str:
        return str(self.args[0])


def variables(template: str) -> frozenset[str]:
    """Return the names that a `{x}` template uses.

    >>> sorted(variables("I am {name}, see {{not_me}} and {a.b}"))
    ['a.b', 'name']
    """
    return frozenset(_VARIABLE.findall(template))


def selector_parameters(template: str) -> frozenset[str]:
    """Return the names that a `{{x}}` selector template uses."""
    return frozenset(_PARAMETER.findall(template))


def required_selector_parameters(template: str) -> frozenset[str]:
    """Return the names without which a `{{x}}` selector template cannot be filled: not those of `{{x|given_words}}`.

    >>> sorted(required_selector_parameters("//li[{{row|words}}][{{more|given_words}}]"))
    ['row']
    """
    return selector_parameters(template) - frozenset(_OPTIONAL.findall(template))


def rename_selector_parameter(template: str, name: str, new: str) -> str:
    """Return a `{{x}}` selector template with another name for one parameter.

    >>> rename_selector_parameter("//li[{{row|words}}]", "row", "title")
    '//li[{{title|words}}]'
    """
    return _PARAMETER.sub(
        lambda match: match[0].replace(name, new, 1) if match[1] == name else match[0], template
    )


def fill(template: str, values: Mapping[str, Any]) -> str:
    """Replace every `{x}` once. Raises `MissingVariable`.

    >>> fill("Hi {name}", {"name": "{name}"})
    'Hi {name}'
    """

    def replacement(match: re.Match[str]) -> str:
        if match[1] not in values:
            raise MissingVariable(match[1], template)
        return as_text(values[match[1]])

    return _VARIABLE.sub(replacement, template)


def fill_value(template: Any, values: Mapping[str, Any]) -> Any:
    """Like `fill`, but a template that is only `{x}` keeps the type of the value."""
    if not isinstance(template, str):
        return template
    whole = _VARIABLE.fullmatch(template)
    if whole is not None:
        if whole[1] not in values:
            raise MissingVariable(whole[1], template)
        return values[whole[1]]
    return fill(template, values)


def fill_tree(node: Any, values: Mapping[str, Any]) -> Any:
    """Apply `fill_value` to every string inside JSON data, except keys."""
    if isinstance(node, dict):
        return {key: fill_tree(item, values) for key, item in node.items()}
    if isinstance(node, list | tuple):
        return [fill_tree(item, values) for item in node]
    return fill_value(node, values)


def strings(node: Any, path: str = "$") -> Iterator[tuple[str, str]]:
    """Yield every string inside JSON data, with its JSON path."""
    if isinstance(node, str):
        yield path, node
    elif isinstance(node, dict):
        for key, item in node.items():
            yield from strings(item, f"{path}.{key}")
    elif isinstance(node, list | tuple):
        for index, item in enumerate(node):
            yield from strings(item, f"{path}[{index}]")


def tree_variables(node: Any) -> frozenset[str]:
    """Return the names of the variables in all strings inside JSON data, except keys."""
    return frozenset[str]().union(*(variables(text) for _, text in strings(node)))


def is_one_variable(template: str) -> bool:
    """Return whether a template is only `{x}`, so that the value is passed on unchanged."""
    return _VARIABLE.fullmatch(template) is not None


def fill_css(template: str, values: Mapping[str, Any]) -> str:
    r"""Replace every `{x}` in a CSS selector, each value quoted as `fill_selector` does.

    Raises `MissingVariable`, and `ValueError` for an unquoted value that is no plain identifier.

    >>> fill_css("tr[data-id='{id}']", {"id": "1'], tr['"})
    'tr[data-id="1\'], tr[\'"]'
    """
    doubled = _VARIABLE.sub(lambda match: "{{" + match[1].replace(".", "__") + "}}", template)
    return fill_selector(doubled, {name.replace(".", "__"): value for name, value in values.items()}, "css")


def fill_xpath(template: str, values: Mapping[str, Any]) -> str:
    r"""Replace every `{x}` in an XPath selector, each value as a string expression.

    Raises `MissingVariable`, and `ValueError` for an unquoted value that is no plain number or word.

    >>> fill_xpath("//tr[td[1]='{name}']/td[2]", {"name": "O'Brien"})
    '//tr[td[1]="O\'Brien"]/td[2]'
    """
    doubled = _VARIABLE.sub(lambda match: "{{" + match[1].replace(".", "__") + "}}", template)
    return fill_selector(doubled, {name.replace(".", "__"): value for name, value in values.items()}, "xpath")


def is_xpath(selector: str) -> bool:
    """Return whether a selector that may be CSS is XPath: it begins with `/` or `(/`, as no CSS does."""
    return selector.startswith(("/", "(/"))


def fill_pattern(template: str, values: Mapping[str, Any]) -> str:
    r"""Replace every `{x}` in an RE2 pattern; a value matches itself, also percent-encoded.

    Raises `MissingVariable`.

    >>> fill_pattern("^/find/{what}$", {"what": "a.b"})
    '^/find/a\\.b$'
    >>> fill_pattern("{what}", {"what": "a/b"})
    '(?:a\\/b|a\\%2Fb)'
    """
    used = variables(template) & values.keys()
    return fill(template, {name: _one_of(url_spellings(as_text(values[name]))) for name in used})


def _one_of(texts: tuple[str, ...]) -> str:
    escaped = [str(re2.escape(text)) for text in texts]
    return escaped[0] if len(escaped) == 1 else f"(?:{'|'.join(escaped)})"


def fill_url(template: str, values: Mapping[str, Any]) -> str:
    """Replace every `{x}` in an address, each value percent-encoded, so that none can lead elsewhere.

    If an address begins with `{x}`, the value may be a whole address; the code that opens it checks
    its origin. Raises `MissingVariable`, and `ValueError` for `.` and `..` as a step of the path,
    which no encoding takes the meaning from.

    >>> fill_url("/boats/{name}?q={name}", {"name": "O'Brien/../x&y"})
    '/boats/O%27Brien%2F..%2Fx%26y?q=O%27Brien%2F..%2Fx%26y'
    """

    def replacement(match: re.Match[str]) -> str:
        if match[1] not in values:
            raise MissingVariable(match[1], template)
        text = as_text(values[match[1]])
        if match.start() == 0 and (match.end() == len(template) or _ADDRESS.match(text)):
            return text
        return quote(text, safe="", errors="replace")

    filled = _VARIABLE.sub(replacement, template)
    dots = [step for step in re.split(r"[?#]", filled)[0].split("/") if step in (".", "..")]
    if len(dots) > sum(step in (".", "..") for step in re.split(r"[?#]", template)[0].split("/")):
        raise ValueError(f"{dots[0]!r} cannot be a step of the path in {template!r}")
    return filled


_ADDRESS = re.compile(r"https?://[^/]", re.IGNORECASE)
_URL_SAFE = ("", "!$&'()*+,-.:;=@_~", "!$%&'()*+,-./:;=?@[\\]^_`{|}~")
"""The characters that JavaScript, paths and queries do not escape."""


def url_spellings(text: str) -> tuple[str, ...]:
    """Return a text as it is, and as browsers and forms encode it in addresses, without duplicates."""
    encoded = [quote(text, safe=safe, errors="replace") for safe in _URL_SAFE]
    return tuple(dict.fromkeys([text, *encoded, quote_plus(text, errors="replace")]))


def as_text(value: Any) -> str:
    """Return a value as it is typed or spoken: no quotes, booleans in lower case."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def xpath_literal(text: str) -> str:
    r"""Any text as an XPath 1.0 string expression.

    >>> xpath_literal("O'Brien")
    '"O\'Brien"'
    """
    if "'" not in text:
        return f"'{text}'"
    if '"' not in text:
        return f'"{text}"'
    pieces = "', \"'\", '".join(text.split("'"))
    return f"concat('{pieces}')"


def css_string(text: str) -> str:
    """Return any text as a CSS string in double quotes (CSS Syntax 3, serialize a string)."""
    out = []
    for char in text:
        if char in '"\\':
            out.append("\\" + char)
        elif char == "\0":
            out.append("\ufffd")
        elif ord(char) < 0x20 or ord(char) == 0x7F:
            out.append(f"\\{ord(char):x} ")
        else:
            out.append(char)
    return '"' + "".join(out) + '"'


def list_telling_words(text: str) -> tuple[str, ...]:
    """Return the words of a text by which people find an item, in small letters, without `the`, `of` and the like.

    >>> list_telling_words("the Visa card of Ruth's, ending in 4829")
    ('visa', 'card', 'ruth', 'ending', '4829')
    """
    small = _POSSESSIVE.sub("", text).translate({ord(each): each.lower() for each in _CAPITALS})
    return tuple(dict.fromkeys(each for each in _WORD.findall(small) if each not in _UNTELLING))


def _build_words_condition(text: str) -> str:
    told = list_telling_words(text)
    if not told:
        raise ValueError(f"{text!r} has no word by which an element can be found")
    if len(told) > MOST_WORDS:
        raise ValueError(f"{text!r} has more than {MOST_WORDS} words by which an element can be found")
    return " and ".join(f"descendant-or-self::*/text()[contains({_WORDS_OF_TEXT}, {xpath_literal(f' {each} ')})]" for each in told)  # fmt: skip


def fill_selector(template: str, values: Mapping[str, Any], language: Literal["css", "xpath"]) -> str:
    """Replace every `{{x}}` with the value, quoted for CSS or XPath.

    `'...{{x}}...'` in quotes is re-quoted as a whole; a bare `{{x}}` (`nth-child({{n}})`) accepts only digits
    and identifiers. `[{{x|words}}]` in XPath: the element's texts have all words of the value, in any order and
    case; words such as `the` do not count. `[{{x|given_words}}]` is the same, and holds for every element if there is
    no value. Raises `MissingVariable`, and `ValueError` for a bare value that could
    change the selector's meaning and for one without words.
    """
    quote = css_string if language == "css" else xpath_literal

    def value_of(name: str) -> str:
        if name not in values:
            raise MissingVariable(name, template)
        return as_text(values[name])

    def replacement(match: re.Match[str]) -> str:
        if match["quote"] is None:
            name = _PARAMETER.findall(match[0])[0]
            if match["words"] == "given_words" and values.get(name) in (None, ""):
                return "true()"
            bare = value_of(name)
            if match["words"] and language == "xpath":
                return _build_words_condition(bare)
            if not re.fullmatch(r"[A-Za-z0-9_-]+", bare):
                raise ValueError(f"{bare!r} cannot stand unquoted in {template!r}")
            return bare
        if not _PARAMETER.search(match["inside"]):
            return match[0]
        return quote(_PARAMETER.sub(lambda m: value_of(m[1]), match["inside"]))

    return _QUOTED_PARAMETER.sub(replacement, template)
