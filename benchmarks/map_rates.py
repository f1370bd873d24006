"""How right `periplus map` is about sites that somebody knew before: the seed site, and Django's admin.

    python -m benchmarks.map_rates
    python -m benchmarks.map_rates --only django --seconds 1200

Precision and recall are of pairs of pages that were put into one screen. `known` is the share of pages that
the drawn knowledge base itself takes for the screen they were put in. `screens` are those of the truth that were
found, of those that read-only rules lead to. Times are of this machine and nothing to compare.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from playwright.async_api import Browser
from rich.console import Console
from rich.table import Table

from loaders import read_knowledge_folder
from periplus.session_setup import start_browser
from tests.support.foreign_sites import ADMIN_PASSWORD, ADMIN_USER, django_site, spadeworks_site
from tests.support.live_spadeworks import ACCOUNT, SEED
from tests.support.mapping_rates import (
    NOT_BY_LOOKING,
    DjangoTruth,
    MappedSite,
    Rates,
    identified,
    map_site,
    pairwise,
)

SEED_GOAL, DJANGO_GOAL = 0.98, 0.97


@dataclass(frozen=True)
class Result:
    """What one map came to."""

    site: str
    rates: Rates
    goal: float
    found: int
    reachable: int
    identified: float
    seconds: float
    wrong: tuple[str, ...]

    @property
    def good(self) -> bool:
        """Whether the goals are reached."""
        return self.rates.f1 >= self.goal and self.found == self.reachable


async def seed_site(browser: Browser, folder: Path, seconds: float) -> Result:
    """Against identification by the knowledge base written by hand."""
    with spadeworks_site() as base:
        result = await map_site(browser, f"{base}/", folder, ACCOUNT, seconds)
        by_hand, _ = read_knowledge_folder(SEED / "kb")
        truth = identified(by_hand, {p: result.seen.snapshot(p) for p in result.labels}, base)
    return _told(result, "seed site", truth, set(by_hand.screens) - set(NOT_BY_LOOKING), SEED_GOAL)


async def django(browser: Browser, folder: Path, seconds: float) -> Result:
    """Against the list that was written down before."""
    account = {"username": ADMIN_USER, "password": ADMIN_PASSWORD}
    with django_site("4.2") as base:
        result = await map_site(browser, f"{base}/admin/", folder, account, seconds, allowed=("Delete",))
    listed = DjangoTruth()
    truth = listed.screens(result.seen.pages())
    return _told(result, "Django 4.2", truth, set(listed.patterns) - listed.only_when_allowed, DJANGO_GOAL)


def _told(
    found: MappedSite, site: str, truth: Mapping[str, str], reachable: Iterable[str], goal: float
) -> Result:
    wanted, got = set(reachable), set(truth.values())
    right = sum(found.own.get(page) == screen for page, screen in found.labels.items())
    wrong = [f"not found: {screen}" for screen in sorted(wanted - got)]
    wrong += [f"no screen for {page} ({truth[page]})" for page in sorted(truth.keys() - found.labels.keys())]
    return Result(
        site, pairwise(found.labels, truth), goal, len(wanted & got), len(wanted),
        right / len(found.labels), found.seconds, tuple(wrong),
    )  # fmt: skip


SITES = {"seed": seed_site, "django": django}


async def _run(only: Iterable[str], seconds: float) -> list[Result]:
    with tempfile.TemporaryDirectory(prefix="periplus-map-") as folder:
        async with start_browser(headed=False) as browser:
            return [await SITES[name](browser, Path(folder) / name, seconds) for name in only]


def main() -> int:
    """Map, print, and say by the exit code whether the goals are reached."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", default=",".join(SITES), help="seed, django, or both with a comma")
    parser.add_argument("--seconds", type=float, default=1_800.0, help="for exploring each site")
    asked = parser.parse_args()
    results = asyncio.run(_run(asked.only.split(","), asked.seconds))
    console = Console()
    table = Table("site", "pages", "prec.", "recall", "F1", "goal", "screens", "known", "s")
    for each in results:
        rates = each.rates
        table.add_row(
            each.site, str(rates.pages), f"{rates.precision:.3f}", f"{rates.recall:.3f}", f"{rates.f1:.3f}",
            f"{each.goal}", f"{each.found} of {each.reachable}", f"{each.identified:.1%}", f"{each.seconds:.0f}",
        )  # fmt: skip
    console.print(table)
    for each in results:
        for line in each.wrong:
            console.print(f"{each.site}: {line}", markup=False)
    return 0 if all(each.good for each in results) else 1


if __name__ == "__main__":
    sys.exit(main())
