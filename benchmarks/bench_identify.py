"""Identification: 100, 1,000 and 10,000 known screens, against a linear scan over all of them.

The site is a mixture: screens with an address of their own, create/edit twins that share one, screens
of a single-page application at one address, and screens without URL patterns that are told by a text,
by an element or by a role and name alone.

The scan is as good as one can be: every signature is compiled to numbers of distinct checks, URL
patterns are compiled RE2, each distinct check is answered once per page and only when it is first
needed, and a screen is left at the first check that rejects it. Its answer is asserted to be the same.
"""

from __future__ import annotations

import gc
import json
import resource
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest

from benchmarks.timing import median_ms
from kb_schema import KnowledgeBase, parse_document, url_patterns
from kb_schema.page_snapshots import PageSnapshot
from kb_schema.probes import ElementProbe, Probe, TextProbe, probe_key
from kb_schema.screens import Screen
from kb_schema.selectors import Selector
from kb_schema.websites import Website
from mcp_server.identification.screen_identification import all_candidates, identify
from mcp_server.knowledge.compiled_view import KnowledgeView, compile_view
from mcp_server.screen_index.index_keys import SnapshotFormat
from web_pages.stored_pages import StoredPage, answer_probes

pytestmark = pytest.mark.bench

BASE = "https://shop.example"
SIZES = (100, 1_000, 10_000)
KINDS = ("own address", "twins", "one address for all", "text alone", "element alone", "role and name alone")
ROUNDS = 30
WHOLE_ANSWERS = 2
"""Pages of which the whole answer, runners-up and all, is compared to that of judging every screen; the
tests do it for any page."""

Check = tuple[str, object]
"""A URL pattern (`url`), or a probe (`page`) that holds if something is seen."""


def _text(words: str, selector: str | None = None) -> dict[str, object]:
    return {"type": "dom_contains", "value": words, **({"selector": selector} if selector else {})}


def _seen(element: object) -> dict[str, object]:
    return {"type": "element_visible", "element": element}


def _named(n: int) -> dict[str, str]:
    return {"type": "role_name", "role": "button", "name": f"Open drawer {n}."}


def screen(n: int) -> dict[str, object]:
    """Screen number n; its kind is n's rest."""
    kind = KINDS[n % len(KINDS)]
    patterns: list[str] = []
    required: list[object] = [_text("Shop")]
    if kind == "own address":
        patterns, required = [rf"^/area{n % 50}/page{n}/\d+$"], [_text(f"Heading {n}.", "h1")]
    elif kind == "twins":
        patterns, required = [rf"^/forms/form{n // 12}(/\d+)?$"], [_text(f"Heading {n}.", "h1")]
    elif kind == "one address for all":
        patterns, required = ["^/app"], [_text("Shop"), _text(f"Heading {n}.", "h1")]
    elif kind == "text alone":
        required = [_text("Shop"), _text(f"Heading {n}.")]
    elif kind == "element alone":
        required = [_text("Shop"), _seen(f"main [data-testid=panel-{n}]")]
    else:
        required = [_text("Shop"), _seen(_named(n))]
    return {
        "type": "screen",
        "screen_id": f"s{n}",
        "name": f"Screen {n}",
        "url_patterns": patterns,
        "state_signature": {
            "required_indicators": required,
            "optional_indicators": [_seen(f"#mark-{n % 20}")],
            "negative_indicators": [_seen(f"#not-{n % 20}"), _text(f"Heading {n}. is gone", "h1")],
        },
    }


def knowledge(size: int) -> KnowledgeBase:
    """A website of so many screens."""
    website = parse_document({"type": "website", "website_id": "shop", "name": "Shop", "base_url": BASE})
    assert isinstance(website, Website)
    screens = [parse_document(screen(n)) for n in range(size)]
    known = {each.screen_id: each for each in screens if isinstance(each, Screen)}
    return KnowledgeBase(website=website, by_kind={"website": {"shop": website}, "screen": known})


def address(n: int) -> str:
    """Where screen n is met."""
    kind = KINDS[n % len(KINDS)]
    if kind == "own address":
        return f"/area{n % 50}/page{n}/7"
    if kind == "twins":
        return f"/forms/form{n // 12}"
    return "/app/x" if kind == "one address for all" else f"/else/{n}"


def page(n: int) -> PageSnapshot:
    """A page of screen n with about 500 elements."""
    rows = "".join(f"<tr><td>Row {i}</td><td><a href=/r/{i}>open</a></td></tr>" for i in range(120))
    body = (
        f"<h1>Heading {n}.</h1><main><p id=mark-{n % 20}>Shop</p><div data-testid=panel-{n}>Panel</div>"
        f"<button>Open drawer {n}.</button><table>{rows}</table></main>"
    )
    return PageSnapshot(url=BASE + address(n), html=f"<body>{body}</body>", title="Shop")


def told(n: int) -> PageSnapshot:
    """The same as an accessibility snapshot."""
    rows = "".join(
        f'    - row [ref=r{i}]:\n      - cell "Row {i}" [ref=c{i}]\n      - link "open" [ref=l{i}]:\n'
        f"        - /url: /r/{i}\n"
        for i in range(120)
    )
    text = (
        f"- heading {json.dumps(f'Heading {n}.')} [level=1] [ref=e1]\n- main:\n  - paragraph: Shop\n"
        f"  - button {json.dumps(f'Open drawer {n}.')} [ref=e2]\n  - table:\n{rows}"
    )
    return PageSnapshot(url=BASE + address(n), text=text, title="Shop")


# -- the scan ------------------------------------------------------------------------------------


@dataclass(slots=True)
class Row:
    """One signature as numbers of checks."""

    screen_id: str
    against: list[int]
    necessary: list[int]
    weighed: list[tuple[int, float]]
    total: float
    threshold: float


@dataclass
class Scan:
    """A linear scan over compiled signatures."""

    view: KnowledgeView
    checks: list[Check] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)

    def __post_init__(self) -> None:
        numbers: dict[Check, int] = {}

        def number(check: Check) -> int:
            return numbers.setdefault(check, len(numbers))

        for signature in self.view.signatures.values():
            checked = {
                id(indicator): number(self._check(indicator.condition, signature.scope))
                for indicator in (*signature.against, *signature.positive)
            }
            self.rows.append(
                Row(
                    signature.screen_id,
                    [checked[id(each)] for each in signature.against],
                    [checked[id(each)] for each in signature.necessary],
                    [(checked[id(each)], each.weight) for each in signature.positive],
                    signature.total,
                    signature.threshold,
                )
            )
        self.checks = [*numbers]
        self._ask = [self._asker(check) for check in self.checks]

    def _check(self, condition: object, scope: object) -> Check:
        pattern = getattr(condition, "pattern", None)
        if pattern is not None:
            return ("url", url_patterns.compile_pattern(pattern))
        [probe] = condition.probes(scope)  # type: ignore[attr-defined]
        return ("page", probe_key(probe))

    def _asker(self, check: Check) -> object:
        kind, asked = check
        if kind == "url":
            return asked
        data = json.loads(str(asked))
        if data["kind"] == "text":
            return TextProbe(**data)
        return ElementProbe(selector=Selector.model_validate(data["selector"]))

    def best(self, looked: StoredPage) -> tuple[str, float] | None:
        """The screen with the highest confidence, and that."""
        path = looked.snapshot.url[len(BASE) :]
        known: list[bool | None] = [None] * len(self.checks)
        found: list[tuple[float, str]] = []

        def holds(number: int) -> bool:
            verdict = known[number]
            if verdict is None:
                verdict = self._answer(number, looked, path)
                known[number] = verdict
            return verdict

        for row in self.rows:
            if not all(
                known[number] if known[number] is not None else holds(number) for number in row.necessary
            ):
                continue
            if any(holds(number) for number in row.against):
                continue
            share = sum(weight for number, weight in row.weighed if holds(number)) / row.total
            if share >= row.threshold:
                found.append((-share, row.screen_id))
        return (min(found)[1], round(-min(found)[0], 4)) if found else None

    def _answer(self, number: int, looked: StoredPage, path: str) -> bool:
        kind, _ = self.checks[number]
        asked = self._ask[number]
        if kind == "url":
            return asked.search(path) is not None  # type: ignore[attr-defined]
        probe: Probe = asked  # type: ignore[assignment]
        return looked.answer(probe).visible > 0


# -- the table -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Line:
    """What was measured at one size, in milliseconds unless it says otherwise."""

    size: int
    look_up: float
    scan: float
    whole: float
    whole_scan: float
    text: float
    without_index: float
    compile_s: float
    file_s: float
    memory_mb: float


def samples(size: int) -> list[int]:
    """Two screens of each kind."""
    middle = size // 2 // len(KINDS) * len(KINDS)
    return [middle + n for n in range(2 * len(KINDS))]


def mean_ms(work: Callable[[Any], object], pages: Iterable[Any], rounds: int) -> float:
    """The mean over some pages of their medians."""
    return statistics.mean(median_ms(partial(work, one), rounds) for one in pages)


def memory_mb() -> float:
    """The most memory this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measured(size: int) -> Line:
    """One size, once all answers are found to be the same."""
    documents = knowledge(size)
    gc.collect()
    before, begin = memory_mb(), time.perf_counter()
    view = compile_view(documents, "1")
    compiled = time.perf_counter()
    for medium in (SnapshotFormat.MARKUP, SnapshotFormat.OUTLINE):
        view.screens.filed(medium)
    filed, after = time.perf_counter(), memory_mb()
    scan = Scan(view)
    pages = {n: StoredPage(page(n)) for n in samples(size)}
    for n, one in pages.items():
        answer = identify(view, one, answer_probes)
        assert (answer.screen_id, answer.ambiguous) == (f"s{n}", False)
        assert scan.best(one) == (answer.screen_id, answer.confidence)
    for n in [*pages][:WHOLE_ANSWERS]:
        for one in (pages[n], StoredPage(told(n))):
            assert identify(view, one, answer_probes) == identify(
                view, one, answer_probes, narrowing=all_candidates
            )
    return Line(
        size=size,
        look_up=mean_ms(lambda one: identify(view, one, answer_probes), pages.values(), ROUNDS),
        scan=mean_ms(scan.best, pages.values(), 5),
        whole=mean_ms(lambda n: identify(view, page(n), answer_probes), pages, 7),
        whole_scan=mean_ms(lambda n: scan.best(StoredPage(page(n))), pages, 3),
        text=mean_ms(lambda n: identify(view, told(n), answer_probes), pages, 7),
        without_index=mean_ms(
            lambda one: identify(view, one, answer_probes, narrowing=all_candidates), [*pages.values()][:2], 1
        ),
        compile_s=compiled - begin,
        file_s=filed - compiled,
        memory_mb=after - before,
    )


def test_identification_against_a_linear_scan() -> None:
    print(f"\n\npages of about 500 elements, {len(KINDS)} kinds of screens, means of medians, in ms\n")
    print(
        f"{'known':>7} | {'page read: ours':>15} {'scan':>8} {'ratio':>6} | {'from HTML: ours':>15} {'scan':>8} "
        f"{'ratio':>6} | {'from snapshot text':>18} | {'our code without index':>22}"
    )
    lines = {}
    for size in SIZES:
        line = lines[size] = measured(size)
        print(
            f"{line.size:>7,} | {line.look_up:>15.3f} {line.scan:>8.2f} {line.scan / line.look_up:>6.1f} "
            f"| {line.whole:>15.2f} {line.whole_scan:>8.2f} {line.whole_scan / line.whole:>6.1f} "
            f"| {line.text:>18.2f} | {line.without_index:>22.1f}",
            flush=True,
        )
    print(
        f"\n{'known':>7} | {'compiling the view':>18} | {'filing, for HTML and text':>25} | {'memory for both':>15}"
    )
    for line in lines.values():
        print(
            f"{line.size:>7,} | {line.compile_s:>16.2f} s | {line.file_s:>23.2f} s | {line.memory_mb:>12.1f} MB"
        )
    small, large = (lines[size] for size in SIZES[-2:])
    faster, growth = large.scan / large.look_up, large.look_up / small.look_up
    print(f"\nat {large.size:,} known screens {faster:.0f} times faster than the scan (goal: at least 20),")
    print(f"and {growth:.2f} times the cost at {small.size:,} (goal: at most 3)")
    assert faster >= 20
    assert growth <= 3
