"""The figures of MiniWoB++: kept line by line, as a table for the terminal, and as a table in Markdown."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.miniwob_arena import Ending, How
from benchmarks.miniwob_person import OTHERS, UNSEEN

GOOD = 0.9
"""Share of goals from which on a task counts as learned."""
HOWS: tuple[How, ...] = ("solved", "refused", "stopped", "wrong")
BEGIN, END = "<!-- written by `make miniwob` -->", "<!-- end of what `make miniwob` writes -->"
"""The figures stand between these lines of a page."""


@dataclass(slots=True)
class Score:
    """All goals of one task and k."""

    task: str
    k: int
    endings: list[Ending] = field(default_factory=list)

    def share(self, how: How) -> float:
        """Of the goals, those that ended so."""
        return sum(each.how == how for each in self.endings) / len(self.endings) if self.endings else 0.0

    def reasons(self, *hows: How) -> list[tuple[str, int]]:
        """Why, and how often, most often first."""
        return Counter(each.why for each in self.endings if each.how in hows).most_common()


@dataclass(frozen=True)
class Draw:
    """The endings of one draw of k demonstrations of a task."""

    task: str
    k: int
    draw: int
    endings: tuple[Ending, ...]
    series: str = ""
    """Chooses which demonstrations are drawn, and the seeds of the goals."""

    @property
    def key(self) -> tuple[str, int, int]:
        """Tell it from the other draws."""
        return self.task, self.k, self.draw


def read_draws(file: Path, series: str = "") -> dict[tuple[str, int, int], Draw]:
    """Return the draws of a series that a file keeps."""
    if not file.is_file():
        return {}
    found = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        kept = json.loads(line)
        endings = tuple(Ending(**each) for each in kept["endings"])
        draw = Draw(kept["task"], kept["k"], kept["draw"], endings, kept.get("series", ""))
        if draw.series == series:
            found[draw.key] = draw
    return found


def keep_draw(file: Path, draw: Draw) -> None:
    """Add a draw to a file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as out:
        out.write(json.dumps(asdict(draw)) + "\n")


def make_scores(draws: Iterable[Draw]) -> list[Score]:
    """Return the draws of each task and k together."""
    scores: dict[tuple[str, int], Score] = {}
    for draw in sorted(draws, key=lambda each: each.key):
        score = scores.setdefault((draw.task, draw.k), Score(draw.task, draw.k))
        score.endings += draw.endings
    return list(scores.values())


def make_table(scores: Sequence[Score], ks: Sequence[int]) -> Table:
    """Success by task and k, and below it how many tasks are learned."""
    made = Table("task", *(f"k = {k}" for k in ks), title="Goals solved, of those that nobody showed")
    found = {(score.task, score.k): score for score in scores}
    for task in dict.fromkeys(score.task for score in scores):
        made.add_row(task, *(tell_score(found[task, k]) if (task, k) in found else "" for k in ks))
    made.add_section()
    made.add_row(f"tasks over {GOOD:.0%}", *(_count_learned(scores, k) for k in ks))
    return made


def tell_score(score: Score) -> str:
    """Return the share of the solved, and those of the others in brackets."""
    others = [f"{score.share(how):.0%} {how}" for how in HOWS[1:] if score.share(how)]
    solved = f"{score.share('solved'):4.0%}"
    return f"{solved}  ({', '.join(others)})" if others else solved


def _count_learned(scores: Sequence[Score], k: int) -> str:
    own = [score for score in scores if score.k == k]
    return f"{sum(score.share('solved') > GOOD for score in own)} of {len(own)}"


def tell_reasons(scores: Sequence[Score], console: Console) -> None:
    """Print why goals were not solved, refusals apart from errors."""
    for how in HOWS[1:]:
        lines = [
            f"  {score.task}, k = {score.k}: {count} of {len(score.endings)}: {why[:200]}"
            for score in scores
            for why, count in score.reasons(how)[:3]
        ]
        if lines:
            console.print(f"\n{how.capitalize()}:")
            console.print("\n".join(lines), highlight=False, markup=False, soft_wrap=True)


def write_markdown(scores: Sequence[Score], ks: Sequence[int]) -> str:
    """Return the figures as tables in Markdown: the tasks shown by people, by the scripted person, and those apart."""
    lines = [f"{datetime.now(UTC):%Y-%m-%d}, rules only, without a model."]
    people = {score.task for score in scores} - {*OTHERS, *UNSEEN}
    for title, tasks in (
        ("demonstrations of people", people),
        ("demonstrations of the scripted person", {*OTHERS}),
        ("tried only after the rules were written", {*UNSEEN}),
    ):
        own = [score for score in scores if score.task in tasks]
        if not own:
            continue
        lines += ["", f"| {title} | {' | '.join(f'k = {k}' for k in ks)} | what was not solved |"]
        lines.append(f"|{'---|' * (len(ks) + 2)}")
        for task in dict.fromkeys(score.task for score in own):
            of_task = {score.k: score for score in own if score.task == task}
            cells = [tell_score(of_task[k]).strip() if k in of_task else "" for k in ks]
            lines.append(f"| {task} | {' | '.join(cells)} | {_first_reason(of_task.values())} |")
        lines.append(f"| **over {GOOD:.0%}** | {' | '.join(_count_learned(own, k) for k in ks)} | |")
        wrong = sum(each.how == "wrong" for score in own for each in score.endings)
        lines.append(
            f"| **wrong** | {wrong} of {sum(len(score.endings) for score in own)} goals{' |' * (len(ks) + 1)}"
        )
    return "\n".join(lines) + "\n"


def _first_reason(scores: Iterable[Score]) -> str:
    reasons: Counter[str] = Counter()
    for score in scores:
        for why, count in score.reasons("refused", "stopped", "wrong"):
            reasons[why] += count
    if not reasons:
        return ""
    told = " ".join(reasons.most_common(1)[0][0].split()).replace("|", "\\|").replace("<", "&lt;")
    return told if len(told) <= _LONGEST else f"{told[:_LONGEST]}..."


_LONGEST = 160


def put_into(page: Path, told: str) -> None:
    """Write figures between the marks of a page. Raises `ValueError` if the page has none."""
    text = page.read_text(encoding="utf-8")
    if BEGIN not in text or END not in text:
        raise ValueError(f"{page} has no line {BEGIN} with a line {END} below it")
    before, rest = text.split(BEGIN, 1)
    page.write_text(f"{before}{BEGIN}\n\n{told}\n{END}{rest.split(END, 1)[1]}", encoding="utf-8")
