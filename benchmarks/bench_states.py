"""How well screens and their states are told apart after learning from few sorted pages.

python benchmarks/bench_states.py DIR [--draws N] [--show] [APPLICATION ...]

DIR is what `state_pages.py` stored. Of each screen and state, k pages are drawn; all the others are identified with
what was learned. Right: the label. Unknown: no screen, or several that cannot be told apart. Wrong: another label.
Only labels with more than k pages count for k. `--show` names the pages that were not right, with what was said.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from loaders.screen_learner.signature_learner import learn_joined_signatures  # noqa: E402
from mcp_server.identification.screen_identification import identify  # noqa: E402
from mcp_server.knowledge.compiled_view import compile_view  # noqa: E402
from periplus.learned_screens.learned_knowledge import build_knowledge_base  # noqa: E402
from periplus.learned_screens.sorted_pages import SortedPage, read_sorted_pages  # noqa: E402
from web_pages.stored_pages import StoredPage, answer_probes  # noqa: E402

LABELS = "labels.json"
SHOWN = (1, 2, 3, 5)
"""Pages drawn of each screen and state."""


@dataclass(slots=True)
class StateFigures:
    """The results for one application and one k, over all draws."""

    right: int = 0
    wrong: int = 0
    unknown: int = 0
    refused: int = 0
    """Labels for which nothing was learned."""
    mistakes: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Label and what was said instead -> times."""
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Label and why it was not learned -> times."""

    @property
    def asked(self) -> int:
        """The number of pages that were identified."""
        return self.right + self.wrong + self.unknown


def draw(pages: Sequence[SortedPage], count: int, seed: int) -> tuple[list[SortedPage], list[SortedPage]]:
    """Return `count` pages of each label, and those of the other pages whose label has more than `count`."""
    chance = random.Random(seed)  # noqa: S311 - the same pages every time
    by_label: dict[str, list[SortedPage]] = defaultdict(list)
    for page in pages:
        by_label[page.screen or ""].append(page)
    drawn: list[SortedPage] = []
    others: list[SortedPage] = []
    for label in sorted(by_label):
        own = by_label[label][:]
        chance.shuffle(own)
        drawn, others = [*drawn, *own[:count]], [*others, *own[count:]]
    return drawn, others


def measure(
    pages: Sequence[SortedPage], stored: dict[str, StoredPage], count: int, draws: int
) -> StateFigures:
    """Learn from `count` pages of each label, and identify the others; as often as `draws`, with other pages."""
    figures = StateFigures()
    for seed in range(draws):
        drawn, others = draw(pages, count, seed)
        found = learn_joined_signatures([page.observed for page in drawn])
        knowledge, left_out = build_knowledge_base(found.learned, "bench", pages[0].base)
        figures.refused += len(found.refused) + len(left_out)
        figures.reasons.update((name, why.reason) for name, why in found.refused.items())
        view = compile_view(knowledge, "bench")
        for page in others:
            answer = identify(view, stored[page.stored.name], answer_probes, base_url=page.base)
            said = None if answer.ambiguous else answer.screen_id
            if said == page.screen:
                figures.right += 1
                continue
            figures.wrong += said is not None
            figures.unknown += said is None
            figures.mistakes[
                page.screen or "", said or f"unknown ({'ambiguous' if answer.ambiguous else '-'})"
            ] += 1
    return figures


def main() -> None:
    """Print a table by application and k."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("applications", nargs="*")
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    found = sorted(each.parent for each in options.folder.glob(f"*/{LABELS}"))
    chosen = [each for each in found if not options.applications or each.name in options.applications]
    if not chosen:
        parser.error(
            f"{options.folder} has no pages of {', '.join(options.applications) or 'any application'}: python benchmarks/state_pages.py {options.folder}"
        )
    total = {count: StateFigures() for count in SHOWN}
    print(
        f"{'application':<14} {'pages':>5} {'labels':>6} {'k':>2} {'asked':>6} {'right':>7} {'wrong':>7} {'unknown':>8} {'not learned':>12}"
    )
    for folder in chosen:
        pages = read_sorted_pages(folder, folder / LABELS, None)
        stored = {page.stored.name: StoredPage(page.stored.read()) for page in pages}
        for count in SHOWN:
            figures = measure(pages, stored, count, options.draws)
            sums = total[count]
            sums.right, sums.wrong, sums.unknown = (
                sums.right + figures.right,
                sums.wrong + figures.wrong,
                sums.unknown + figures.unknown,
            )
            sums.refused += figures.refused
            _print(
                folder.name,
                f"{len(pages)}",
                f"{len({page.screen for page in pages})}",
                count,
                figures,
                options.draws,
            )
            if options.show:
                for (label, said), times in figures.mistakes.most_common(40):
                    print(f"    {times:>4} {label} -> {said}")
                for (label, why), times in figures.reasons.most_common(40):
                    print(f"    {times:>4} not learned {label}: {why}")
    for count, sums in total.items():
        _print("all", "", "", count, sums, options.draws)


def _print(name: str, pages: str, labels: str, count: int, figures: StateFigures, draws: int) -> None:
    of = max(1, figures.asked)
    print(
        f"{name:<14} {pages:>5} {labels:>6} {count:>2} {figures.asked:>6} {figures.right / of:>7.2%} {figures.wrong / of:>7.2%}"
        f" {figures.unknown / of:>8.2%} {figures.refused / draws:>12.1f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
