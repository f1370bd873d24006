"""Makes the selector of a recorded step, and what its words tell about the element.

The first recorded target stays the first choice, whatever its kind. The other targets were correct when they were recorded;
later one of them may lead to something else, so they are fallbacks, and mere places count only where words identify the element.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from kb_schema.fingerprints import Fingerprint
from kb_schema.selectors import RECORDED, NameStrategy, Selector, SemanticStrategy, Strategy, ValueStrategy
from loaders.recordings.field_names import last_xpath_step

LONGEST_WORDS = 80
"""Characters. A longer text is content, not what a control is called."""
LONGEST_ATTRIBUTE = 200
LONGEST_TARGET = 3_900
"""Characters of a target; a longer one is none."""
_ROLES = {"a": "link", "button": "button", "option": "option", "summary": "button"}
_CONTROLS = frozenset({*_ROLES, "input", "select", "textarea"})
_PRESSES = frozenset({"click", "double_click", "right_click", "hover", "check", "uncheck"})
_TAG = re.compile(r"^([a-zA-Z][\w-]*)")
_CSS_TAG = re.compile(r"(?:^|[\s>+~])([a-zA-Z][\w-]*)(?:[.#:\[][^\s>+~]*)?$")
_SAID = re.compile(
    r"""(?:contains\(\s*(?:\.|text\(\)|normalize-space\(\.?\))\s*,\s*|(?:text\(\)|normalize-space\(\.?\)|(?<=\[)\.)\s*=\s*)"""
    r"""(?:'([^']*)'|"([^"]*)")"""
)
_GIVEN = re.compile(
    r"""@(id|name|type|title|alt|aria-label|placeholder|value|href)\s*=\s*(?:'([^']*)'|"([^"]*)")"""
)
_CSS_GIVEN = re.compile(r"""\[(name|type|title|alt|aria-label|placeholder)\s*=\s*["']?([^"'\]]*)["']?\]""")
_CSS_ID = re.compile(r"#((?:\\.|[\w-])+)(?![^#]*[\s>+~])")


@dataclass
class RecordedTargets:
    """The targets of one step, in the order of the file."""

    action: str
    strategies: list[Strategy] = field(default_factory=list)
    exact: list[Strategy] = field(default_factory=list)
    """Further forms of the first target, tried right after it."""
    words: list[str] = field(default_factory=list)
    """What the targets say that people read on the element, the most certain first."""
    texts: list[str] = field(default_factory=list)
    """Texts of it that may be parts of what it is called."""
    role: str | None = None
    tags: list[str] = field(default_factory=list)
    attributes: dict[str, str] = field(default_factory=dict)

    def read_xpath(self, xpath: str) -> None:
        """Take what an XPath says about its element."""
        own = last_xpath_step(xpath)
        if tag := _TAG.match(own):
            self.tags.append(tag[1].lower())
        self.texts += [one or other for one, other in _SAID.findall(own)]
        for name, one, other in _GIVEN.findall(own):
            self.attributes.setdefault(name, one or other)

    def read_css(self, css: str) -> None:
        """Take what a CSS selector says about its element."""
        if tag := _CSS_TAG.search(css):
            self.tags.append(tag[1].lower())
        for name, value in _CSS_GIVEN.findall(css.rsplit(" ", 1)[-1]):
            self.attributes.setdefault(name, value)
        if given := _CSS_ID.search(css):
            self.attributes.setdefault("id", given[1].replace("\\", ""))

    @property
    def tag(self) -> str | None:
        """The tag, if it is that of a control: words of other elements are those of the control around them."""
        return next((each for each in self.tags if each in _CONTROLS), None)

    @property
    def tag_role(self) -> str | None:
        """The role that the tag has."""
        return _ROLES.get(self.tag or "")

    def fingerprint(self) -> Fingerprint | None:
        """Return what is known of the element; None if that is nothing."""
        tag = self.tag
        role = self.role if len(self.role or "") <= LONGEST_WORDS else None
        role = role or self.tag_role
        attributes = {
            name: value
            for name, value in self.attributes.items()
            if 0 < len(value) <= LONGEST_ATTRIBUTE and name != "value"
        }
        words = [
            *self.words,
            *self.texts,
            *(attributes.get(name, "") for name in ("aria-label", "title", "alt")),
        ]
        value = self.attributes.get("value", "")
        if tag == "input" and self.action in _PRESSES and value[:1].isupper() and not words_of(words):
            words.append(value)
            role = role or "button"
        known = words_of(words)
        if self.action not in _PRESSES:
            made = Fingerprint(
                role=role, tag=tag, label=next(iter(words_of(self.words)), None), attributes=attributes
            )
        else:
            made = Fingerprint(role=role, tag=tag, name=known[0] if known else None, attributes=attributes)
        return None if made == Fingerprint() else made

    def selector(self, frame: str | None) -> Selector | None:
        """Return the selector, the recorded order kept; None if no target can be read."""
        if not self.strategies:
            return None
        first, *others = self.strategies
        named = bool((self.fingerprint() or Fingerprint()).words)
        later = [each for each in others if named or not _is_place(each)]
        ordered = [*_told([first, *self.exact]), *_told(later, fallback=True)]
        return Selector(strategies=tuple(ordered), frame=frame)


def words_of(texts: Iterable[str]) -> list[str]:
    """Return the texts that can be what a control is called."""
    plain = (" ".join(each.split()) for each in texts if each)
    return [each for each in plain if 0 < len(each) <= LONGEST_WORDS and any(map(str.isalpha, each))]


def _told(strategies: Sequence[Strategy], *, fallback: bool = False) -> list[Strategy]:
    """Return distinct strategies marked as recorded in this order."""
    once = {each.model_dump_json(exclude={"meta", "fallback"}): each for each in strategies}
    return [
        each.model_copy(update={"fallback": fallback, "meta": {RECORDED: at}})
        for at, each in enumerate(once.values())
    ]


def _is_place(strategy: Strategy) -> bool:
    """Return whether a strategy only says where the element is."""
    if isinstance(strategy, NameStrategy | SemanticStrategy) or not isinstance(strategy, ValueStrategy):
        return False
    if strategy.type == "xpath":
        return not re.search(r"[@'\"]", last_xpath_step(strategy.value))
    if strategy.type in ("css", "shadow_pierce"):
        last = re.split(r"[\s>+~]+", strategy.value.strip())[-1]
        return not re.search(r"[#\[]", last)
    return False
