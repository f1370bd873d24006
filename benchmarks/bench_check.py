"""Checking 500 signatures against 1,000 stored pages: how long, of what, and how it grows.

python benchmarks/bench_check.py [PAGES] [SCREENS]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

from kb_schema import KnowledgeBase, SourcedDocument, assemble, parse_document
from kb_schema.page_snapshots import PageSnapshot
from mcp_server.knowledge.compiled_view import compile_view
from mcp_server.signature_checks.signature_check import check_signatures
from web_pages.page_profiles import build_page_profile
from web_pages.stored_pages import StoredPage

ROWS = 40


def knowledge(screens: int) -> KnowledgeBase:
    """A site whose screens come in pairs that share everything but a heading."""
    website = {"type": "website", "website_id": "big", "name": "Big", "base_url": "https://big.example"}
    documents = [parse_document(website)]
    for number in range(screens):
        signature = {
            "required_indicators": [
                {"type": "dom_contains", "value": f"Screen number {number}.", "selector": "h1"},
                {"type": "dom_element", "selector": f'[data-testid="form-{number // 2}"]'},
            ],
            "optional_indicators": [
                {"type": "dom_contains", "value": f"Part {number % 7}", "selector": "h2"},
                {"type": "dom_contains", "value": f"Words of {number}"},
            ],
            "negative_indicators": [
                {"type": "dom_contains", "value": f"Screen number {number ^ 1}.", "selector": "h1"}
            ],
        }
        screen = {
            "type": "screen",
            "screen_id": f"s{number}",
            "name": f"Screen {number}",
            "url_patterns": [rf"^https://big\.example/p{number // 4}(/.*)?$"],
            "state_signature": signature,
        }
        documents.append(parse_document(screen))
    return assemble(SourcedDocument(document) for document in documents)[0]


def pages(count: int, screens: int) -> Iterator[tuple[str, PageSnapshot]]:
    """Pages of about 350 elements, each of one of the screens."""
    for number in range(count):
        of = number % screens
        rows = "".join(
            f"<tr><td><input type=checkbox aria-label='row {row}'></td><td><a href='/x{row}'>Name {row}</a></td>"
            f"<td>some words of row {row}</td><td><button>Edit</button></td></tr>"
            for row in range(ROWS)
        )
        html = (
            f"<html><body><nav aria-label='Main'>{'<a href=/m>Menu</a>' * 10}</nav><main>"
            f"<h1>Screen number {of}.</h1><h2>Part {of % 7}</h2><p>Words of {of}</p>"
            f"<form data-testid='form-{of // 2}'><label>Name <input></label></form>"
            f"<table><thead><tr><th>Pick</th><th>Name</th><th>Words</th><th></th></tr></thead><tbody>{rows}</tbody></table>"
            "</main></body></html>"
        )
        yield (
            f"page-{number}",
            PageSnapshot(url=f"https://big.example/p{of // 4}/{number}", title="Big", html=html),
        )


def main(count: int, screens: int) -> None:
    """One line per size."""
    began = time.perf_counter()
    for _, snapshot in pages(count, screens):
        build_page_profile(StoredPage(snapshot))
    parsing = time.perf_counter() - began
    print(f"parsing and sketching {count} pages: {parsing:.1f} s")
    for number in (screens // 5, screens):
        view = compile_view(knowledge(number), "1")
        labels = {f"page-{each}": f"s{each % screens % number}" for each in range(count)}
        began = time.perf_counter()
        report = check_signatures(view, pages(count, number), labels=labels if number == screens else None)
        took = time.perf_counter() - began
        assert report.snapshots == count
        if number == screens:
            assert report.right == count
        print(
            f"{count} pages x {number} screens: {took:.1f} s, {took / count * 1000:.1f} ms a page, "
            f"{took / parsing:.1f} times the parsing"
        )


if __name__ == "__main__":
    given = [int(each) for each in sys.argv[1:]]
    main(*(given + [1_000, 500][len(given) :]))
