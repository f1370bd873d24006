"""Finds a secret that a page repeats so that it is not recognised, and cuts it out.

A text is compared in normalised form: escapes decoded, markup removed or kept, white space and punctuation removed,
case folded. A secret is searched forwards, backwards, and in the encodings of `_encodings`. Not found are hashes,
ciphers, drawings, look-alike letters, and a secret in parts with other words between them. At an edge where a text was
cut (`Edges`), the beginning or the end of a secret counts as the secret.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import html
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from ahocorasick_rs import AhoCorasick, MatchKind

SHORTEST = 6
"""Characters, punctuation left out, of a secret whose disguises are searched: shorter ones are ordinary text."""
SHORTEST_WORD = 12
"""The same for a secret of letters only: shorter ones are searched only as an encoding."""
MOST_ROUNDS = 5
"""How often escapes are decoded, such as an entity in a percent-encoded address in JSON."""
MOST_BASE64 = 3
"""How often base64 is decoded."""
MOST_CUTS = 8
"""Cuts of one text; then, and where no place can be named, the text is withheld."""
MOST_DECODED = 1_000_000
"""Characters that base64 is decoded to, beside ten times the text: beyond them the text is withheld."""
LONG = 1_000
"""Characters from which on a text is normalised in pieces, ASCII and others."""
LEAST_ENCODED = 8
"""Characters of base64 that have `SHORTEST` bytes: fewer have no secret whose disguises are searched."""
SHORTEST_CUT = 6
"""Characters of a secret, in each of its forms, that are searched where a text was cut."""
MOST_JUNK = 9
"""Letters and digits of an escape that was cut itself, between a secret and the edge: `U00000063` of C and Python."""
MOST_HALF_DECODED = 2
"""Characters that the last, cut group of base64 is decoded to."""
LONGEST_TAG = 200
"""Characters of a tag that was cut at an edge."""
NEAR = 16
"""Characters at an edge in which such an escape begins."""
WITHHELD = "••• (withheld: it repeats a secret in a form that cannot be cut out)"

_MARKUP = re.compile(r"<!--(?:.*?-->|.*\Z)|<[a-zA-Z/!?](?:[^>\"']++|\"[^\"]*+\"|'[^']*+')*+>?", re.DOTALL)
"""As a browser reads tags. It always matches where it begins, so that its time is linear in the text."""
_ESCAPE = re.compile(
    r"[%\\&](?:"
    r"(?<=%)(?:u(?P<wide>[0-9a-f]{4})"
    r"|(?P<percent>[0-7][0-9a-f]|[cd][0-9a-f]%[89ab][0-9a-f]|e[0-9a-f](?:%[89ab][0-9a-f]){2}|f[0-7](?:%[89ab][0-9a-f]){3}))"
    r"|(?<=\\)(?:(?-i:U)(?P<long>[0-9a-f]{8})|(?P<pair>ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2})"
    r"|x(?P<byte>[0-9a-f]{2})|(?!(?-i:U)[0-9a-f]{4,7}\Z)u(?P<unit>[0-9a-f]{4})|u\{0*(?P<point>[0-9a-f]{1,6})\}"
    r"|(?P<octal>1[0-7]{2})|(?P<css>0{0,4}[0-9a-f]{2})\s?|(?P<plain>[\\/\"'nrt]))"
    r"|(?<=&)(?:#x0*(?P<hexadecimal>[0-9a-f]{1,6});?|#0*(?P<decimal>[0-9]{1,7});?|(?P<entity>[a-z][a-z0-9]{1,31};)))",
    re.IGNORECASE,
)
"""It begins with a set of characters, so that `re` skips all others at once. Octal are letters alone: `\\065` is read as CSS has it."""
_OCTAL = re.compile(r"\\[0-3][0-7]{2}")
_OCTAL_ESCAPE = re.compile(
    _ESCAPE.pattern.replace("(?P<octal>1[0-7]{2})", "(?P<octal>[0-3][0-7]{2})"), re.IGNORECASE
)
"""Reads `\\061` as the octal escape `1`, not as the letter `a` of CSS."""
_BASES = {"decimal": 10, "octal": 8}
_FILLERS = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0]")
"""Letters by their category that are painted as nothing. (`str.translate` takes ten times as long where there is none.)"""
_TAGS = re.compile("[\U000e0020-\U000e007e]")
"""Tag characters: each is an ASCII character that is painted as nothing."""
_SEPARATORS = re.compile(r"[\W_]+")
_STRUCTURE = re.compile(r"[<>\"'{}\[\],]")
_ASCII = bytes(range(128)).lower() + bytes(range(128, 256))
_NO_ALNUM = bytes(each for each in range(128) if not chr(each).isalnum())
_NO_BASE64 = bytes(
    each for each in range(256) if each > 127 or not (chr(each).isalnum() or chr(each) in "+/")
)
_NO_URLSAFE = bytes(
    each for each in range(256) if each > 127 or not (chr(each).isalnum() or chr(each) in "-_")
)
_TO_URLSAFE = bytes.maketrans(b"-_", b"+/")
_RUN = re.compile(r"[A-Za-z0-9+/_-]{8,}={0,2}")
_HEXADECIMAL = bytes(ord("h") if chr(each) in "0123456789abcdefABCDEF" else ord("x") for each in range(256))
"""What each byte may be of hexadecimal digits."""
_HEXADECIMAL_RUN = re.compile(rb"hhhhhhhhhhhhhhhhh*+")
"""At least eight bytes. It begins with fixed letters, so that `re` skips all others at once."""
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
_HEAD_RUN = re.compile(r"[^A-Za-z0-9+/_-]*[A-Za-z0-9+/_-]{8,}={0,2}")
_TAIL_RUN = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{8,}={0,2}[^A-Za-z0-9+/_-]*\Z")
_TAG_BEGINNING = re.compile(r"<[^<>]*\Z")
_TAG_END = re.compile(r"[^<>]{0,200}>")
_INNER_MARKUP = re.compile(r"<[a-zA-Z/!?-][^<>]*+>")
_PRINTABLE = re.compile(
    rb"(?:[\t\n\r\x20-\x7e]\x00?|[\xc2-\xf4][\x80-\xbf]{1,3}){6,}+|(?:\x00[\x20-\x7e]){6,}+"
)
_CLASSES = bytes(
    ord("a") if each in b"\t\n\r" or 0x20 <= each <= 0x7E
    else ord("0") if each == 0
    else ord("c") if 0x80 <= each <= 0xBF
    else ord("l") if 0xC2 <= each <= 0xF4
    else ord("x")
    for each in range(256)
)  # fmt: skip
"""What each byte may be of a readable text: `a` ASCII, `0` half of UTF-16, `l` and `c` the lead and the rest of UTF-8, `x` nothing."""
_MAYBE_PRINTABLE = re.compile(rb"aaaaaaa*+")

_Spans: TypeAlias = list[tuple[int, int]]
"""For each character of a decoded text, the start and the end of its source."""


@dataclass(frozen=True, slots=True)
class Edges:
    """Where a text may have been cut off: at its head, at its tail."""

    head: bool = False
    tail: bool = False


@dataclass(slots=True)
class _Budget:
    left: int
    """Characters that may still be read."""


class SecretDisguises:
    """The disguises of some secrets."""

    def __init__(self, values: Iterable[str]) -> None:
        least = dict[str, int]()
        for value in values:
            for form in _needles(value):
                least[form] = min(_least_of(form, value), least.get(form, len(form)))
        self.forms = tuple(sorted(least))
        """The normalised forms that are searched."""
        self._needles = AhoCorasick(self.forms, matchkind=MatchKind.LeftmostLongest) if self.forms else None
        begun = dict[str, list[str]]()
        for form in self.forms:
            begun.setdefault(form[: least[form]], []).append(form)
        self._begun = tuple(begun.values())
        """The forms with the same beginning, by the number of that beginning. As each form is searched backwards as well, the
        beginnings of a text read backwards are the ends of the forms."""
        self._beginnings = AhoCorasick(list(begun), matchkind=MatchKind.Standard) if begun else None

    def __bool__(self) -> bool:
        return self._needles is not None

    def found_in(self, text: str) -> bool:
        """Return whether a text repeats one of the secrets."""
        if self._needles is None or len(text) < SHORTEST:
            return False
        return self._found(text, MOST_BASE64, _Budget(MOST_DECODED + 10 * len(text)))

    def cut_from(self, text: str, mark: str) -> str:
        """Return a text with `mark` for each disguise; `WITHHELD` if one remains. Markup around it is kept."""
        for _ in range(MOST_CUTS):
            if not self.found_in(text):
                return text
            spans = self._locate(text)
            if not spans:
                break
            text = _replace(text, spans, mark)
        return WITHHELD

    def cut_parts_from(self, text: str, mark: str, edges: Edges) -> str:
        """Return a text with `mark` for the part of a disguise that is left at an edge; `WITHHELD` if one remains.

        `text` is what is near the edges: all of it is read.
        """
        for _ in range(MOST_CUTS):
            if not self._has_part(text, edges, MOST_BASE64):
                return text
            spans = self._locate_part(text, edges)
            if not spans:
                break
            text = _replace(text, spans, mark)
        return WITHHELD

    def _found(self, text: str, depth: int, budget: _Budget) -> bool:
        budget.left -= len(text)
        if budget.left < 0:  # no page that is what it seems to be: it counts as found
            return True
        for view, _, last in _views(text, None):
            if self._hit(_normalise(view)):
                return True
            if last and depth and any(self._found(each, depth - 1, budget) for each in _decode_runs(view)):
                return True
        return False

    def _hit(self, normalised: str) -> bool:
        return self._needles is not None and bool(self._needles.find_matches_as_indexes(normalised))

    def _locate(self, text: str) -> _Spans:
        """Return the places in the source of what is found in the first reading that has any."""
        for view, spans, last in _views(text, [(at, at + 1) for at in range(len(text))]):
            if spans and (found := self._locate_spelt(view, spans)):
                return found
            if spans and last:
                runs = [run for run in _RUN.finditer(view) if self._found_encoded(run[0])]
                if runs:
                    return [(spans[run.start()][0], spans[run.end() - 1][1]) for run in runs]
        return []

    def _found_encoded(self, run: str) -> bool:
        budget = _Budget(MOST_DECODED)
        return any(self._found(each, MOST_BASE64 - 1, budget) for each in _decode_runs(run))

    def _locate_spelt(self, view: str, spans: _Spans) -> _Spans:
        if self._needles is None or not self._hit(_normalise(view)):
            return []
        normalised = "".join(map(_normalise, view))
        places = _place(view, spans)
        matches = self._needles.find_matches_as_indexes(normalised)
        return [places[at] for _, start, end in matches for at in range(start, end)]

    def _has_part(self, text: str, edges: Edges, depth: int, junk: int = 0) -> bool:
        if self._beginnings is None or len(text) < SHORTEST_CUT:
            return False
        for view, _, last in _views(text, None):
            if any(self._find_at_edge(part, edges, junk) for part, _ in _without_cut_tags(view, edges)):
                return True
            if last and depth and self._list_cut_runs(view, edges, depth):
                return True
        return False

    def _locate_part(self, text: str, edges: Edges) -> _Spans:
        for view, spans, last in _views(text, [(at, at + 1) for at in range(len(text))]):
            for part, before in _without_cut_tags(view, edges):
                if spans and (found := self._find_at_edge(part, edges)):
                    places = _place(part, spans[before : before + len(part)])
                    return [places[at] for at in found if at < len(places)]
            if spans and last and (runs := self._list_cut_runs(view, edges, MOST_BASE64)):
                return [(spans[run.start()][0], spans[run.end() - 1][1]) for run in runs]
        return []

    def _list_cut_runs(self, view: str, edges: Edges, depth: int) -> list[re.Match[str]]:
        """Return the runs at the edges that are a part of an encoded secret."""
        return [
            run
            for run, edge in _list_edge_runs(view, edges)
            if any(
                self._has_part(each, edge, depth - 1, MOST_HALF_DECODED)
                for start in range(1 + edge.head)  # hexadecimal may begin with half a byte
                for each in _decode_runs(run[0][start:])
            )
        ]

    def _find_at_edge(self, view: str, edges: Edges, junk: int = 0) -> range | None:
        """Return which letters and digits of a text are a part of a secret that was cut at its tail, or at its head."""
        normalised = _normalise(view)
        if edges.tail:
            more = MOST_JUNK if any(each in view[-NEAR:] for each in "%\\&") else junk
            if (start := self._find_beginning(normalised, more)) is not None:
                return range(start, len(normalised))
        if edges.head and (start := self._find_beginning(normalised[::-1], MOST_JUNK)) is not None:
            return range(len(normalised) - start)
        return None

    def _find_beginning(self, normalised: str, junk: int) -> int | None:
        """Return where the beginning of a form begins that goes on until the end, or until `junk` characters before it."""
        if self._beginnings is None:
            return None
        starts = [
            start
            for number, start, _ in self._beginnings.find_matches_as_indexes(normalised, overlapping=True)
            if any(
                form.startswith(normalised[start : len(normalised) - junk]) for form in self._begun[number]
            )
        ]
        return min(starts, default=None)


def _list_edge_runs(view: str, edges: Edges) -> Iterator[tuple[re.Match[str], Edges]]:
    """Yield the runs of letters that an encoding may have at the edges of a text, each with its edge."""
    if edges.head and (run := _HEAD_RUN.match(view)):
        yield run, Edges(head=True)
    if edges.tail and (run := _TAIL_RUN.search(view)):
        yield run, Edges(tail=True)


def _place(view: str, spans: _Spans) -> _Spans:
    """Return the place of the source of each letter and digit of a text."""
    return [span for character, span in zip(view, spans, strict=True) for _ in _normalise(character)]


def _without_cut_tags(view: str, edges: Edges) -> Iterator[tuple[str, int]]:
    """Yield a text with cut edges, and without the part of a tag that is left there, each with where it begins."""
    yield view, 0
    start, end = 0, len(view)
    if edges.head and (tag := _TAG_END.match(view)):
        start = tag.end()
    if edges.tail and (tag := _TAG_BEGINNING.search(view, max(start, len(view) - LONGEST_TAG))):
        end = tag.start()
    if (start, end) != (0, len(view)):
        yield view[start:end], start


def _replace(text: str, spans: _Spans, mark: str) -> str:
    """Replace each secret by one mark. Markup, quotes and brackets between its parts are kept."""
    pieces, at, begun = list[str](), 0, False
    for start, end in sorted(set(spans)):
        if start >= at:
            gap = text[at:start]
            joined = begun and _is_separator(gap)
            if not joined:
                pieces += [gap, mark]
            elif _STRUCTURE.search(gap):
                pieces.append(gap)
        at, begun = max(at, end), True
    return "".join([*pieces, text[at:]])


def _is_separator(gap: str) -> bool:
    """Whether what lies on both sides of a gap may belong to one secret: no letter is between, but in markup."""
    return not _SEPARATORS.sub("", _MARKUP.sub("", gap))


def _views(text: str, spans: _Spans | None) -> Iterator[tuple[str, _Spans | None, bool]]:
    """Yield the text as it is, decoded once, twice and so on, with its markup and without it, and whether it is the last
    reading of its kind.

    Without markup: first with what a browser sees as tags removed, then with tags in attributes removed. A text in which octal escapes
    may stand is read so once more.
    """
    octal = False
    for escape in (_ESCAPE, _OCTAL_ESCAPE):
        for view, places, last in _views_decoded(text, spans, escape):
            octal = octal or (escape is _ESCAPE and "\\" in view and _OCTAL.search(view) is not None)
            yield view, places, last
        if not octal:
            return


def _views_decoded(
    text: str, spans: _Spans | None, escape: re.Pattern[str]
) -> Iterator[tuple[str, _Spans | None, bool]]:
    for markup in (None, _MARKUP):
        view, places = text, spans
        for left in reversed(range(MOST_ROUNDS)):
            if markup is not None:
                view, places = _rewrite(markup, _remove, view, places)
            decoded, placed = view, places
            if left and any(each in view for each in "%\\&"):
                decoded, placed = _rewrite(escape, _decode, view, places)
            yield view, places, decoded == view
            if decoded == view:
                break
            view, places = decoded, placed
        if markup is None:
            if "<" not in view:
                return
            inner, placed = _rewrite(_INNER_MARKUP, _remove, view, places)
            yield inner, placed, True


def _remove(_: re.Match[str]) -> str:
    return ""


def _rewrite(
    pattern: re.Pattern[str], change: Callable[[re.Match[str]], str], text: str, spans: _Spans | None
) -> tuple[str, _Spans | None]:
    """Return a text with each match changed, and the source of each character if that of `text` is given."""
    if spans is None:
        return pattern.sub(change, text), None
    pieces, places, at = list[str](), list[tuple[int, int]](), 0
    for match in pattern.finditer(text):
        pieces.append(text[at : match.start()])
        places += spans[at : match.start()]
        if new := change(match):
            pieces.append(new)
            places += [(spans[match.start()][0], spans[match.end() - 1][1])] * len(new)
        at = match.end()
    return "".join([*pieces, text[at:]]), places + spans[at:]


def _decode(match: re.Match[str]) -> str:
    said = match[0]
    match match.lastgroup:
        case "percent":
            return bytes.fromhex(said.replace("%", "")).decode("utf-8", "replace")
        case "pair":  # of UTF-16, as JSON writes it
            return bytes.fromhex(said.lower().replace("\\u", "")).decode("utf-16-be")
        case "entity":
            return html.unescape(said)
        case "plain":
            return " " if said[1] in "nrt" else said[1]
        case str() as group:
            code = int(match[group], _BASES.get(group, 16))
            return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else said
        case None:
            return said


def _normalise(text: str) -> str:
    """Return the letters and digits of a text in one case, without accents."""
    if text.isascii():
        return _normalise_ascii(text)
    if len(text) < LONG:
        return _normalise_letters(text)
    pieces, at = list[str](), 0
    for run in _NOT_ASCII.finditer(text):  # nearly all of most pages is ASCII
        start = max(at, run.start() - 1)  # an accent may follow its letter
        pieces += [_normalise_ascii(text[at:start]), _normalise_letters(text[start : run.end()])]
        at = run.end()
    return "".join([*pieces, _normalise_ascii(text[at:])])


def _normalise_ascii(text: str) -> str:
    return text.encode().translate(_ASCII, _NO_ALNUM).decode()


def _normalise_letters(text: str) -> str:
    untagged = _TAGS.sub(lambda tag: chr(ord(tag[0]) - 0xE0000), text)
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", untagged).casefold())
    return _SEPARATORS.sub("", _FILLERS.sub("", folded))


def _decode_runs(text: str) -> Iterator[str]:
    """Yield the readable parts of what a text is in base64, wherever in it the base64 begins, and in hexadecimal."""
    plain = text.encode("utf-8", "replace")
    yield from _decode_base64(plain)
    for start, end in _list_hexadecimal(plain):
        yield from _read(binascii.a2b_hex(plain[start:end]))


def _decode_base64(plain: bytes) -> Iterator[str]:
    standard = plain.translate(None, _NO_BASE64)
    urlsafe = plain.translate(None, _NO_URLSAFE).translate(_TO_URLSAFE)
    for each in dict.fromkeys((standard, urlsafe, standard[::-1])):
        for offset in range(min(4, len(each) - LEAST_ENCODED + 1)):  # none if it is shorter
            end = offset + (len(each) - offset) // 4 * 4
            rest = each[end:]
            whole = each[offset:end] + (rest.ljust(4, b"A") if len(rest) > 1 else b"")
            yield from _read(binascii.a2b_base64(whole))


def _list_hexadecimal(plain: bytes) -> Iterator[tuple[int, int]]:
    """Yield where at least eight bytes are written in hexadecimal."""
    for run in _HEXADECIMAL_RUN.finditer(plain.translate(_HEXADECIMAL)):
        yield run.start(), run.end() - len(run[0]) % 2


def _read(data: bytes) -> Iterator[str]:
    if readable := b"\n".join(_list_printable(data)):
        yield readable.decode("utf-8", "replace")


def _list_printable(data: bytes) -> Iterator[bytes]:
    """Yield what `_PRINTABLE.findall(data)` returns, in a tenth of its time: most of what is decoded is noise."""
    classes = data.translate(_CLASSES)
    if classes.count(b"a") + classes.count(b"l") < SHORTEST:
        return
    merged = (
        classes.replace(b"lccc", b"aaaa").replace(b"lcc", b"aaa").replace(b"lc", b"aa").replace(b"a0", b"aa")
    )
    for run in _MAYBE_PRINTABLE.finditer(merged):
        start, end = run.span()
        yield from _PRINTABLE.findall(data, start - (start > 0 and data[start - 1] == 0), end)


def _least_of(form: str, secret: str) -> int:
    """Return how many characters of a form are searched where a text was cut: those of `SHORTEST_CUT` characters of the secret."""
    return min(len(form), max(SHORTEST_CUT, (SHORTEST_CUT - 1) * len(form) // len(secret) + 1))


def _needles(secret: str) -> Iterator[str]:
    """Yield the normalised forms in which a secret is searched."""
    plain = _normalise(secret)
    if len(secret) < SHORTEST:
        return
    found = set[str]()
    if len(plain) >= (SHORTEST_WORD if secret.isalpha() else SHORTEST):
        found |= {plain, _normalise(codecs.encode(secret, "rot13"))}
        found |= {_normalise(_MARKUP.sub("", secret)), _normalise(html.unescape(secret))}
    bases = {secret, secret.lower(), secret.upper(), secret.swapcase(), secret.strip()}
    for base in bases | {each[::-1] for each in bases}:
        found.update(_encodings(base))
    longest = {each for each in found if len(each) >= SHORTEST}
    yield from longest | {each[::-1] for each in longest}


def _encodings(text: str) -> Iterator[str]:
    """Yield a text as digits and letters: hexadecimal, decimal, octal and binary codes, base32, ascii85 left out."""
    plain = text.encode("utf-8", "replace")
    codes = [ord(each) for each in text]
    for data in (plain, *(text.encode(each, "replace") for each in ("utf-16-le", "utf-16-be", "utf-32-be"))):
        yield data.hex()
    for form in (
        "x{:x}",
        "x{:02x}",
        "0x{:02x}",
        "u{:04x}",
        "{:x}",
        "{:06x}",
        "{:d}",
        "{:03d}",
        "{:o}",
        "{:03o}",
        "{:08b}",
        "{:07b}",
    ):
        yield "".join(map(form.format, codes))
        yield "".join(map(form.format, plain))
    for before in range(5):  # inside other data base32 begins at any of five places
        inner = base64.b32encode(b"\0" * before + plain).decode()
        part = inner[-(-8 * before // 5) : 8 * (before + len(plain)) // 5]
        yield _normalise(part)
    for before in range(3):
        inner = base64.b64encode(b"\0" * before + plain).decode()
        part = _normalise(inner[-(-8 * before // 6) : 8 * (before + len(plain)) // 6])
        if len(part) >= 8:
            yield part
