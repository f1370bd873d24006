"""Writes docs/sources.md from the manifest of promises, and lists the open ones.

python -m tests.promises
"""

from __future__ import annotations

import sys

from tests.promises.promise_manifest import ROOT, read_manifest, render_sources


def main() -> None:
    """Write the page and print what is open."""
    documents = read_manifest()
    (ROOT / "docs" / "sources.md").write_text(render_sources(documents), encoding="utf-8")
    for document in documents:
        for each in document.promises:
            if each.open is not None:
                sys.stdout.write(f"{document.key} {each.section}: {each.promise} -- open: {each.open}\n")


main()
