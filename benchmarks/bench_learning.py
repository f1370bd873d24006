"""How well screens are grouped, learned and told again, on pages of sites that run here; and how long it takes.

python benchmarks/bench_learning.py [DIR]

DIR is what `learning_pages.py` stored; without one the pages are taken first. Told are the pairwise F1 of grouping
without labels, the share of pages told right that were held back when signatures were learned of half of them, of
three and of one for each screen, the same for another version of the site, and how many pages of a screen that
nobody labelled were taken for another.
"""

from __future__ import annotations

import asyncio
import random
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from kb_schema import KnowledgeBase  # noqa: E402
from kb_schema.page_snapshots import PageSnapshot  # noqa: E402
from loaders.screen_learner.observed_pages import ObservedPage  # noqa: E402
from loaders.screen_learner.page_clusters import cluster_pages  # noqa: E402
from loaders.screen_learner.signature_learner import learn_signatures  # noqa: E402
from periplus.learned_screens.learned_knowledge import build_knowledge_base, find_misidentified_pages  # noqa: E402
from periplus.learned_screens.sorted_pages import SortedPage, read_sorted_pages  # noqa: E402
from web_pages.page_profiles import build_page_profile  # noqa: E402
from web_pages.stored_pages import StoredPage  # noqa: E402

LABELS = "labels.json"
SHOWN = (None, 3, 1)
"""Pages shown of each screen; None: half of them."""
REDESIGNS = (("spadeworks-1", "spadeworks-2"), ("spadeworks-2", "spadeworks-1"), ("django-4.2", "django-5.2"), ("django-4.2", "django-3.2"))  # fmt: skip
SEEDS = (1, 2, 3)


def pairwise(groups: Iterable[Sequence[int]], pages: Sequence[SortedPage]) -> tuple[float, float, float]:
    """F1, precision and recall over pairs of pages."""
    group_of = {at: number for number, group in enumerate(groups) for at in group}
    both = together = same = 0
    for one, other in combinations(range(len(pages)), 2):
        joined = group_of[one] == group_of[other]
        due = pages[one].screen == pages[other].screen
        both, together, same = both + (joined and due), together + joined, same + due
    precision, recall = both / max(1, together), both / max(1, same)
    return 2 * precision * recall / max(1e-9, precision + recall), precision, recall


def split(
    pages: Sequence[SortedPage], seed: int, shown: int | None
) -> tuple[list[SortedPage], list[SortedPage]]:
    """Some pages of each screen, and the rest."""
    chance = random.Random(seed)  # noqa: S311 - the same pages every time
    by_screen: dict[str, list[SortedPage]] = defaultdict(list)
    for page in pages:
        by_screen[page.screen or ""].append(page)
    train: list[SortedPage] = []
    rest: list[SortedPage] = []
    for screen in sorted(by_screen):
        own = by_screen[screen][:]
        chance.shuffle(own)
        count = shown or (len(own) + 1) // 2
        train, rest = [*train, *own[:count]], [*rest, *own[count:]]
    return train, rest


def learned(pages: Sequence[SortedPage]) -> KnowledgeBase:
    """The knowledge that comes of these pages."""
    found = learn_signatures([page.observed for page in pages])
    return build_knowledge_base(found.learned, "bench", pages[0].base)[0]


def right(knowledge: KnowledgeBase, pages: Sequence[SortedPage]) -> str:
    """How many pages are told as they should be."""
    return f"{len(pages) - len(find_misidentified_pages(knowledge, pages, ()))} of {len(pages)}"


def unlabelled(pages: Sequence[SortedPage]) -> str:
    """How many pages of a screen that nobody labelled are taken for another."""
    wrong = 0
    for screen in sorted({page.screen for page in pages if page.screen}):
        knowledge = learned([page for page in pages if page.screen != screen])
        nobody = [
            replace(page, observed=replace(page.observed, screen=None))
            for page in pages
            if page.screen == screen
        ]
        wrong += len(find_misidentified_pages(knowledge, nobody, ()))
    return f"{wrong} of {len(pages)}"


def measure(folder: Path) -> None:
    """All sites of a folder."""
    sites = {
        each.parent.name: read_sorted_pages(each.parent, each, None)
        for each in sorted(folder.glob(f"*/{LABELS}"))
    }
    for name, pages in sites.items():
        bare = [replace(page.observed, screen=None, run="") for page in pages]
        groups = cluster_pages(bare)
        f1, precision, recall = pairwise(groups, pages)
        due = len({page.screen for page in pages})
        print(f"{name}: {len(pages)} pages, {due} screens")
        print(
            f"  grouped into {len(groups)}: pairwise F1 {f1:.3f} (precision {precision:.3f}, recall {recall:.3f})"
        )
        for shown in SHOWN:
            told = [
                right(learned(train), rest) for train, rest in (split(pages, seed, shown) for seed in SEEDS)
            ]
            print(
                f"  held back, {'half' if shown is None else shown} of each screen shown: {', '.join(told)} right"
            )
        print(f"  of a screen nobody labelled, taken for another: {unlabelled(pages)}")
    for one, other in REDESIGNS:
        if one in sites and other in sites:
            told = [right(learned(split(sites[one], 1, shown)[0]), sites[other]) for shown in SHOWN]
            print(f"{one} shown (half, 3, 1), {other} told: {', '.join(told)} right")


def large(pages: int, screens: int) -> list[ObservedPage]:
    """A site of many pages, each with rows of its own."""
    found = []
    for number in range(pages):
        of = number % screens
        word = f"{chr(97 + of % 26)}{chr(97 + of // 26)}"
        rows = "".join(
            f"<tr><td>{number}-{row}</td><td><a href=/x>Name {number} {row}</a></td></tr>" for row in range(8)
        )
        html = (
            f"<html><body><nav aria-label=Main>{'<a href=/m>Menu</a>' * 6}</nav><main><h1>Kind {word}</h1>"
            f"<p>Words of {number}</p><form data-testid='form-{word}'><label>Size {word} <input name='size-{word}'></label>"
            f"</form><table><tr><th>Pick</th><th>Of {word}</th></tr>{rows}</table></main></body></html>"
        )
        path = f"/{word}/p/{number}"
        page = StoredPage(PageSnapshot(url=f"https://large.example{path}", title="Large", html=html))
        found.append(ObservedPage(build_page_profile(page), path, f"run{number}", f"screen_{word}"))
    return found


def speed(pages: int = 2_000, screens: int = 60) -> None:
    """Grouping and learning of a large site, profiles made already."""
    site = large(pages, screens)
    began = time.perf_counter()
    groups = cluster_pages([replace(page, screen=None) for page in site])
    grouping = time.perf_counter() - began
    began = time.perf_counter()
    found = learn_signatures(site)
    print(
        f"{pages} pages of {screens} screens: {len(groups)} groups in {grouping:.1f} s, "
        f"{len(found.learned)} signatures in {time.perf_counter() - began:.1f} s"
    )


def main() -> None:
    """On stored pages, or on pages taken now."""
    if len(sys.argv) > 1:
        measure(Path(sys.argv[1]))
    else:
        from learning_pages import collect  # noqa: PLC0415 - a browser only where pages are taken

        with tempfile.TemporaryDirectory(prefix="periplus-learning-") as folder:
            asyncio.run(collect(Path(folder)))
            measure(Path(folder))
    speed()


if __name__ == "__main__":
    main()
