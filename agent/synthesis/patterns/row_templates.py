"""Generalises targets inside parts of a page that repeat, whatever their tags: rows of `div`s, cards, tiles, labels.

A part repeats if a sibling has its tag and a class of it. One text in it names it: a text node of its own, or the text
of an element with the same tag and class in every part. As with every template, it must lead to exactly the target on
each page; the texts that the inputs have are tried first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from agent.synthesis.alignment.aligned_traces import AlignedCell, RowKey
from agent.synthesis.patterns.target_templates import (
    LEAST_FIRST,
    PARAMETER,
    TargetTemplate,
    put_marks,
    read_mark,
)
from agent.synthesis.traces.list_rows import is_marked_row, list_alike_parts
from agent.synthesis.traces.trace_pages import TracePage, TracePages
from kb_schema.templates import list_telling_words, xpath_literal
from web_pages.element_tree import Element
from web_pages.field_words import CELLS
from web_pages.page_texts import own_texts, squeeze, text_of
from web_pages.selectors.stable_attributes import (
    find_text_flaw,
    list_stable_attributes,
    list_stable_classes,
)

DEEPEST = 7
"""Ancestors of a target that are tried as its part, with the target itself."""
LONGEST_PART = 600
"""Longer texts are a page's, not a part's."""
LONGEST_NAME = 160
MOST_NAMES = 12
"""Texts of a part that are tried as its name."""
MOST_TEMPLATES = 60
MOST_CLASSES = 3
"""Classes, and icons, that are tried as what tells a target from others in its part."""
_WHOLE = frozenset({"html", "body", "main", "select"})
"""Elements that hold the parts."""
_HOLDING = frozenset({"form", "table", "tbody", "ul", "ol"})
"""Elements that hold parts, or are parts themselves where several of a kind stand side by side: a form for each card."""


@dataclass(frozen=True, slots=True)
class SeenTarget:
    """A target on the page of its step."""

    page: TracePage
    element: Element
    mark: Mapping[str, str] = field(default_factory=dict)
    """The input that names a class of the element, with its word; empty if none does."""

    @property
    def chain(self) -> list[Element]:
        """The target and its nearest ancestors."""
        return list(islice((self.element, *self.element.ancestors()), DEEPEST))


@dataclass(frozen=True, slots=True)
class PartNaming:
    """Where the name of a part is: a text node of its own (without a tag), an element inside, or all of it."""

    tag: str = ""
    css_class: str = ""
    word: bool = False
    """Whether only words of the text name the part: `Firefox` of "Firefox on Linux"."""
    whole: bool = False
    """Whether the text is all of the part's: of a link in which a search marks the words that were searched for."""

    @property
    def predicate(self) -> str:
        """The condition on the part, in XPath."""
        said = f"[normalize-space()='{{{{{PARAMETER}}}}}']"
        if self.word:
            said = f"[contains(concat(' ', normalize-space(), ' '), concat(' ', '{{{{{PARAMETER}}}}}', ' '))]"
        if self.whole:
            return said
        return f"[.//{self.tag}{require_class(self.css_class)}{said}]" if self.tag else f"[text(){said}]"

    @property
    def named(self) -> str:
        """The element inside that has the name, in XPath."""
        return f"//{self.tag}{require_class(self.css_class)}[normalize-space()='{{{{{PARAMETER}}}}}']"

    def tells_apart(self, part: Element) -> bool:
        """Whether this part and those beside it all say something else here, and no letters that stand for a name."""
        said = [tuple(self.texts(each)) for each in (part, *list_alike_parts(part))]
        return len(set(said)) == len(said) and not any(_stands_for_name(each, part) for each in said[0])

    def texts(self, part: Element) -> list[str]:
        """Return the texts at this place of a part."""
        if self.whole:
            return [squeeze(text_of(part, everything=True))]
        if not self.tag:
            return own_texts(part)
        return [squeeze(text_of(node, everything=True)) for node in part.descendants() if self.is_at(node)]

    def is_at(self, node: Element) -> bool:
        """Whether an element inside is one that has the name."""
        return node.tag == self.tag and (not self.css_class or self.css_class in list_stable_classes(node))


def find_row_template(
    cells: Sequence[AlignedCell],
    pages: TracePages,
    told: Mapping[str, Mapping[RowKey, str]],
    *,
    one_of_many: bool = False,
    marked_only: bool = False,
) -> TargetTemplate | None:
    """Return the template that fits the targets of all steps; None if there is none.

    `told`: by input, the text with which each trace may name its part; empty: any text names it that differs between
    traces. `one_of_many`: earlier pages had several such targets, of which a search left one. `marked_only`:
    only parts that the markup calls rows. Further
    inputs whose text the part has in every trace are asked for, too ("the mail X from Y").
    """
    seen = look_at_targets(cells, pages)
    if seen is None:
        return None
    known = {row: frozenset(each[row] for each in told.values()) for row in seen} if told else {}
    every = list(seen.values())
    named: TargetTemplate | None = None
    for word in (False, True) if told else (False,):
        if word and named is not None:
            break  # the whole name of the part tells it: a word of the name with the rest of it tells no more
        tried = _templates(every, one_of_many, marked_only, word=word)
        for template, naming, level in islice(tried, MOST_TEMPLATES):
            words: dict[RowKey, str] = {}
            for row, each in seen.items():
                texts = naming.texts(each.chain[level])
                said = _word_for(
                    template, _parts_of(texts, known[row]) if word else texts, each, known.get(row)
                )
                if said is None:
                    break
                words[row] = said
            if len(words) != len(seen) or len(set(words.values())) < 2:
                continue
            also = tuple(key for key in every[0].mark if f"{{{{{key}}}}}" in template)
            found = _with_others(TargetTemplate(template, words, also), naming, level, seen, told)
            if not all(
                each.page.stored.resolve_template(found.template, _values(found, row, told, each.mark))
                == (each.element,)
                for row, each in seen.items()
            ):
                continue
            if set(found.also) - set(every[0].mark) or (
                not told and all(naming.tells_apart(each.chain[level]) for each in every)
            ):
                return found
            named = named or found  # a part around it may have the words of further inputs
    return named or (_find_by_words(seen, told, one_of_many=one_of_many) if told else None)


def find_first_by_words(
    cells: Sequence[AlignedCell], pages: TracePages, told: Mapping[str, Mapping[RowKey, str]]
) -> TargetTemplate | None:
    """Return the template of the first part that has all words of some inputs; None if there is none.

    In at least three traces it was the first, and in one of them there were several: a list of suggestions.
    """
    seen = look_at_targets(cells, pages)
    if seen is None or len(seen) < LEAST_FIRST:
        return None
    return _find_by_words(seen, told, one_of_many=True, first=True)


def _find_by_words(
    seen: Mapping[RowKey, SeenTarget],
    told: Mapping[str, Mapping[RowKey, str]],
    *,
    one_of_many: bool,
    first: bool = False,
) -> TargetTemplate | None:
    """Return the template of a part that has all words of some inputs in every trace, in any order and case.

    "The savings account of Ann ending in 3891" means the part `Savings ****3891, Ann`. `first`: of several such
    parts the first.
    """
    every = list(seen.values())
    inner = list(list_inner_steps([each.element for each in every]))
    for level in range(min(len(each.chain) for each in every)):
        parts = {row: each.chain[level] for row, each in seen.items()}
        if not _repeat(list(parts.values()), known=one_of_many):
            continue
        keys = _list_inputs_by_words(parts, told)
        classes = list_common_classes(list(parts.values()))
        part = f"//{every[0].chain[level].tag}{''.join(map(require_class, classes[:2]))}"
        for main, *others in _orders(keys, told):
            told_by = _predicate(told[main], parts) + "".join(f"[{{{{{each}|words}}}}]" for each in others)
            for step in inner if level else [""]:
                template = f"({part}{told_by}{step})[1]" if first else f"{part}{told_by}{step}"
                found = TargetTemplate(template, dict(told[main]), tuple(others))
                if all(
                    each.page.stored.resolve_template(found.template, _values(found, row, told, each.mark))
                    == (each.element,)
                    for row, each in seen.items()
                ):
                    return found
    return None


def _predicate(texts: Mapping[RowKey, str], parts: Mapping[RowKey, Element]) -> str:
    """Return the condition on a part, in XPath: that it has the text, or its words if some trace shows only these."""
    if all(texts[row] in list_part_texts(part) for row, part in parts.items()):
        return f"[.//text()[normalize-space()='{{{{{PARAMETER}}}}}']]"
    return f"[{{{{{PARAMETER}|words}}}}]"


def _list_inputs_by_words(
    parts: Mapping[RowKey, Element], told: Mapping[str, Mapping[RowKey, str]]
) -> list[str]:
    """Return the inputs whose words each part has, but for those that have the words of one before."""
    said = {
        row: {word for text in list_part_texts(part) for word in list_telling_words(text)}
        for row, part in parts.items()
    }
    found: list[str] = []
    for key in sorted(told, key=lambda each: (-len("".join(told[each].values())), len(each), each)):
        words = {row: list_telling_words(told[key][row]) for row in parts}
        fits = all(each and said[row].issuperset(each) for row, each in words.items())
        if not fits or not key.isidentifier() or key == PARAMETER:
            continue
        if not any(_has_words_of(told[other], told[key]) for other in found):
            found.append(key)
    return found


def _orders(keys: Sequence[str], told: Mapping[str, Mapping[RowKey, str]]) -> Iterator[tuple[str, ...]]:
    """Yield the inputs that tell a part together, then each alone; the one with most values is the first."""
    telling = [key for key in keys if len(set(told[key].values())) > 1]
    main = max(telling, key=lambda key: len(set(told[key].values())), default=None)
    if main is not None:
        yield (main, *(key for key in keys if key != main))
        if len(keys) > 1:
            yield from ((key,) for key in telling)


def _stands_for_name(said: str, part: Element) -> bool:
    """Whether a text is one or two letters with which another text of the part, or its words, begin: an avatar."""
    letters = said.casefold()
    return len(letters) <= 2 and any(
        text != said and (text.startswith(letters) or "".join(word[0] for word in text.split()) == letters)
        for text in (each.casefold() for each in list_part_texts(part))
    )


def _parts_of(texts: Sequence[str], known: frozenset[str]) -> list[str]:
    """Return the known texts that are whole words of a text, but not all of it."""
    return [
        said for said in sorted(known) if any(f" {said} " in f" {text} " and said != text for text in texts)
    ]


def _with_others(
    found: TargetTemplate,
    naming: PartNaming,
    level: int,
    seen: Mapping[RowKey, SeenTarget],
    told: Mapping[str, Mapping[RowKey, str]],
) -> TargetTemplate:
    """Return the template with the other inputs whose text, or words, the part has in every trace."""
    parts = {row: each.chain[level] for row, each in seen.items()}
    by_words = _list_inputs_by_words(parts, told)
    for key, texts in sorted(told.items(), key=lambda each: -len("".join(each[1].values()))):
        exact = all(texts[row] in list_part_texts(part) for row, part in parts.items())
        named = any(texts[row] == found.words[row] for row in seen)
        said_already = any(_has_words_of(each, texts) for each in (found.words, *map(told.get, found.also)))
        if named or said_already or not key.isidentifier() or key == PARAMETER:
            continue
        if not exact and (key not in by_words or len(set(texts.values())) < 2):
            continue
        more = (
            f"[{{{{{key}|words}}}}]" if key in by_words else f"[.//text()[normalize-space()='{{{{{key}}}}}']]"
        )
        template = found.template.replace(naming.predicate, naming.predicate + more, 1)
        more_told = TargetTemplate(template, found.words, (*found.also, key))
        if all(
            each.element
            in each.page.stored.resolve_template(template, _values(more_told, row, told, each.mark))
            for row, each in seen.items()
        ):
            found = more_told
    return found


def _has_words_of(said: Mapping[RowKey, str] | None, texts: Mapping[RowKey, str]) -> bool:
    """Whether a text has all words of another in every trace: "Sarah Chen" those of the given name "Sarah"."""
    words = {row: list_telling_words(each) for row, each in texts.items()}
    return said is not None and all(
        each and {*list_telling_words(said[row])}.issuperset(each) for row, each in words.items()
    )


def _values(
    found: TargetTemplate, row: RowKey, told: Mapping[str, Mapping[RowKey, str]], mark: Mapping[str, str]
) -> dict[str, str]:
    """Return the parameters of a template in one trace."""
    also = {key: told[key][row] for key in found.also if key not in mark}
    return {PARAMETER: found.words[row], **mark, **also}


def list_part_texts(part: Element) -> set[str]:
    """Return the texts that stand in a part. The options of a list in it are what can be chosen there."""
    inside = (node for node in part.descendants() if node.tag != "option")
    return {*own_texts(part), *(said for node in inside for said in own_texts(node))}


def look_at_targets(cells: Sequence[AlignedCell], pages: TracePages) -> dict[RowKey, SeenTarget] | None:
    """Return the target of each step; None if one is not found, or the steps are one or differ in their action."""
    seen = {cell.row: each for cell in cells if (each := _look(cell, pages)) is not None}
    if len(seen) != len(cells) or len({cell.step.action_type for cell in cells}) != 1 or len(cells) < 2:
        return None
    return seen


def _look(cell: AlignedCell, pages: TracePages) -> SeenTarget | None:
    found = pages.find_target(cell.step)
    return (
        None
        if found is None or found[1].root.kind != "document"
        else SeenTarget(*found, read_mark(cell.step))
    )


def _word_for(
    template: str, texts: Sequence[str], seen: SeenTarget, known: frozenset[str] | None
) -> str | None:
    """Return the text with which the template leads to the target; without known texts to the target alone."""
    for said in dict.fromkeys(texts):
        if not said or len(said) > LONGEST_NAME or (known is not None and said not in known):
            continue
        found = seen.page.stored.resolve_template(template, {PARAMETER: said, **seen.mark})
        if seen.element in found and (known is not None or len(found) == 1):
            return said
    return None


def list_part_templates(seen: Sequence[SeenTarget]) -> Iterator[tuple[str, PartNaming, int]]:
    """Yield the templates of parts that repeat, the nearest first, with the place of the name and the level of the part."""
    return _templates(seen, one_of_many=False, marked_only=False, word=False)


def _templates(
    seen: Sequence[SeenTarget], one_of_many: bool, marked_only: bool, *, word: bool
) -> Iterator[tuple[str, PartNaming, int]]:
    """Yield templates, the nearest part first, with the place of the name and the level of the part."""
    inner = [*_marked_steps(seen), *list_inner_steps([each.element for each in seen])]
    for level in range(min(len(each.chain) for each in seen)):
        parts = [each.chain[level] for each in seen]
        classes = list_common_classes(parts) if len({part.tag for part in parts}) == 1 else []
        marked = all(map(is_marked_row, parts))
        if not _repeat(parts, known=one_of_many and (bool(classes) or marked)):
            continue
        if marked_only and not marked:
            continue
        part = f"//{parts[0].tag}{''.join(map(require_class, classes[:2]))}"
        is_innermost = classes and not any(_holds_like(each, classes[:2]) for each in parts)
        innermost = f"[not(.{part})]" if is_innermost else None
        of_all = [PartNaming(word=True, whole=True)] if word and level == 0 else []
        for more in ("", innermost):
            for naming in (*of_all, *_namings(parts[0], word=word)) if more is not None else ():
                for step in inner if level else [""]:
                    yield f"{part}{naming.predicate}{more}{step}", naming, level
        if not classes and level and not word:
            yield from ((*each, level) for each in _around_names(parts[0], inner))


def _around_names(part: Element, inner: Sequence[str]) -> Iterator[tuple[str, PartNaming]]:
    """Yield templates of a part without classes: so many elements around its name, none of which but it has a target.

    The same name elsewhere, such as in a heading, has no target so far around it.
    """
    for naming in (each for each in _namings(part, word=False) if each.tag):
        named = next(each for each in part.descendants() if naming.is_at(each))
        far = [each for each in named.ancestors() if each.tag == part.tag].index(part) + 1
        for step in inner:
            near = f"[not(ancestor::{part.tag}[position()<{far}][.{step}])]" if far > 1 else ""
            yield f"{naming.named}{near}/ancestor::{part.tag}[{far}]{step}", naming


def _holds_like(part: Element, classes: Sequence[str]) -> bool:
    """Whether a part holds another element with its tag and these classes."""
    wanted = set(classes)
    return any(
        node.tag == part.tag and wanted <= set(list_stable_classes(node)) for node in part.descendants()
    )


def _repeat(parts: Sequence[Element], *, known: bool) -> bool:
    """Whether these are parts of one kind, of which a page has several, or had as is `known`."""
    tag = parts[0].tag
    if tag in _WHOLE or any(part.tag != tag for part in parts):
        return False
    if tag in _HOLDING and not all(map(list_alike_parts, parts)):
        return False
    if any(len(text_of(part, everything=True)) > LONGEST_PART for part in parts):
        return False
    return known or any(map(_is_one_of_several, parts))


def _is_one_of_several(part: Element) -> bool:
    """Whether a part has siblings of its kind, or an element around it has that holds nothing else: a grid's column."""
    while not list_alike_parts(part):
        if part.parent is None or len(list(part.parent.elements())) > 1:
            return False
        part = part.parent
    return True


def _namings(part: Element, *, word: bool) -> Iterator[PartNaming]:
    """Yield the places of a part that may name it, in order; headings and links come as they stand."""
    found: dict[PartNaming, None] = {}
    if own_texts(part):
        found[PartNaming(word=word)] = None
    for node in part.descendants():
        if node.tag != "option" and own_texts(node):
            classes = list_stable_classes(node)
            found.setdefault(PartNaming(node.tag, classes[0] if classes else "", word))
    yield from islice(found, MOST_NAMES)


def _marked_steps(seen: Sequence[SeenTarget]) -> Iterator[str]:
    """Yield XPath steps from the part to a target with a class that an input names."""
    first = seen[0]
    for name in list_stable_classes(first.element) if all(each.mark for each in seen) else ():
        yield from put_marks(f"//{first.element.tag}{require_class(name)}", first.mark)


def list_inner_steps(elements: Sequence[Element]) -> Iterator[str]:
    """Yield XPath steps from the part to the target, the most telling first."""
    tags = {each.tag for each in elements}
    if len(tags) != 1:
        return
    tag = tags.pop()
    said = {" ".join(own_texts(each)) for each in elements}
    if len(said) == 1 and all(find_text_flaw(each) is None for each in said):
        yield f"//{tag}[normalize-space()={xpath_literal(said.pop())}]"
    attributes = [dict(list_stable_attributes(each)) for each in elements]
    for name, value in attributes[0].items():
        if name != "class" and all(each.get(name) == value for each in attributes):
            yield f"//{tag}[@{name}={xpath_literal(value)}]"
    for each in _list_telling_classes(elements):
        yield f"//{tag}{require_class(each)}"
    for icons in zip(*(_list_icons(each) for each in elements), strict=False):
        for each in _list_telling_classes(icons) if len({icon.tag for icon in icons}) == 1 else ():
            yield f"//{tag}[.//{icons[0].tag}{require_class(each)}]"
    yield f"//{tag}"
    columns = {_column_of(each) for each in elements}
    if tag in CELLS and len(columns) == 1:
        yield f"//{tag}[{columns.pop()}]"


def _column_of(cell: Element) -> int:
    """Return the number of a cell, from 1, among the cells of its row with its tag."""
    same = [] if cell.parent is None else [each for each in cell.parent.elements() if each.tag == cell.tag]
    return 1 + next((number for number, each in enumerate(same) if each is cell), 0)


def _list_telling_classes(elements: Sequence[Element]) -> list[str]:
    """Return the classes that all elements have, those first that few elements of the page have: an icon's own."""
    same = [each for each in elements[0].root.elements if each.tag == elements[0].tag]
    counts = Counter(name for each in same for name in list_stable_classes(each))
    return sorted(list_common_classes(elements), key=lambda name: counts[name])[:MOST_CLASSES]


def _list_icons(element: Element) -> list[Element]:
    """Return the elements without text inside an element without text."""
    return [] if text_of(element, everything=True) else list(islice(element.descendants(), MOST_CLASSES))


def list_common_classes(elements: Sequence[Element]) -> list[str]:
    """Return the classes that all elements have: those of a state are left out where it differs."""
    first, *others = [list_stable_classes(each) for each in elements]
    return [name for name in first if all(name in each for each in others)]


def require_class(name: str) -> str:
    """Return the condition, in XPath, that an element has a class; empty without one."""
    return (
        f"[contains(concat(' ', normalize-space(@class), ' '), {xpath_literal(f' {name} ')})]" if name else ""
    )
