"""Aligning traces against a plain progressive alignment, and synthesis from the first step to the last.

The plain one is what a textbook says (Feng and Doolittle): distances of all pairs, then one trace after
the other, the most alike first, into a growing profile, all in Python. Where that takes too long, it is
timed on a part and the rest is reckoned from it; the line says so.

    python -m benchmarks.bench_synthesis
"""

from __future__ import annotations

import asyncio
import random
import time
import tracemalloc
from collections import Counter
from collections.abc import Sequence

import pytest

from agent.synthesis.alignment.sequence_alignment import align_sequences
from agent.synthesis.synthesis_pipeline import MetaAgentPipeline, PipelineConfig
from kb_schema.execution_traces import ExecutionTrace, TraceStep
from kb_schema.page_snapshots import PageSnapshot
from web_pages.stored_pages import StoredPage

pytestmark = pytest.mark.bench

Columns = list[dict[int, int]]


# -- what is aligned


def people(count: int, length: int, *, seed: int = 1) -> list[list[int]]:
    """One task of `length` steps as `count` people do it: a tenth of the steps left out, done differently
    or after a detour, of which there are 40 kinds.
    """
    dice = random.Random(seed)  # noqa: S311 - noise, no secret
    base = [dice.randrange(length) for _ in range(length)]
    made = []
    for _ in range(count):
        row: list[int] = []
        for symbol in base:
            chance = dice.random()
            if chance < 1 / 30:
                continue
            if chance < 2 / 30:
                row.append(length + dice.randrange(40))
            elif chance < 3 / 30:
                row.append(length + dice.randrange(40))
                continue
            row.append(symbol)
        made.append(row)
    return made


# -- the plain alignment


def pair_likeness(one: Sequence[int], other: Sequence[int]) -> int:
    """Length of the longest common subsequence, by the table."""
    above = [0] * (len(other) + 1)
    for symbol in one:
        row = [0]
        for at, its in enumerate(other):
            row.append(above[at] + 1 if symbol == its else max(above[at + 1], row[at]))
        above = row
    return above[-1]


def all_pairs(rows: Sequence[Sequence[int]]) -> list[list[int]]:
    likeness = [[0] * len(rows) for _ in rows]
    for one in range(len(rows)):
        for other in range(one):
            likeness[one][other] = likeness[other][one] = pair_likeness(rows[one], rows[other])
    return likeness


def plain(rows: Sequence[Sequence[int]]) -> Columns:
    """Progressive: the two most alike first, then always the one most like those that are there."""
    likeness = all_pairs(rows)
    first = max(range(len(rows)), key=lambda each: sum(likeness[each]))
    nearest = {each: likeness[each][first] for each in range(len(rows)) if each != first}
    columns: Columns = [{first: at} for at in range(len(rows[first]))]
    counts: list[Counter[int]] = [Counter([symbol]) for symbol in rows[first]]
    while nearest:
        chosen = max(nearest, key=lambda each: (nearest[each], -each))
        del nearest[chosen]
        columns, counts = merged(columns, counts, chosen, rows[chosen])
        nearest = {each: max(near, likeness[each][chosen]) for each, near in nearest.items()}
    return columns


def merged(
    columns: Columns, counts: list[Counter[int]], number: int, row: Sequence[int]
) -> tuple[Columns, list[Counter[int]]]:
    """One row against the profile: as many equal symbols as there can be, gaps are free."""
    table = [[0] * (len(row) + 1)]
    for there in counts:
        above, line = table[-1], [0]
        for at, symbol in enumerate(row):
            both = above[at] + there[symbol] if there[symbol] else -1
            line.append(max(both, above[at + 1], line[at]))
        table.append(line)
    made: Columns = []
    said: list[Counter[int]] = []
    left, at = len(columns), len(row)
    while left or at:
        together = left and at and counts[left - 1][row[at - 1]]
        if together and table[left][at] == table[left - 1][at - 1] + together:
            left, at = left - 1, at - 1
            made.append({**columns[left], number: at})
            said.append(counts[left] + Counter([row[at]]))
        elif left and table[left][at] == table[left - 1][at]:
            left -= 1
            made.append(columns[left])
            said.append(counts[left])
        else:
            at -= 1
            made.append({number: at})
            said.append(Counter([row[at]]))
    return made[::-1], said[::-1]


def identical_pairs(rows: Sequence[Sequence[int]], columns: Columns) -> int:
    """Pairs of equal steps in one column."""
    return sum(
        times * (times - 1) // 2
        for column in columns
        for times in Counter(rows[row][at] for row, at in column.items()).values()
    )


# -- measuring


def timed(work: object, *args: object) -> tuple[float, Columns]:
    begin = time.perf_counter()
    made = work(*args)  # type: ignore[operator]
    return time.perf_counter() - begin, made


def best_of(times: int, rows: Sequence[Sequence[int]]) -> tuple[float, Columns]:
    runs = [timed(align_sequences, rows) for _ in range(times)]
    return sorted(seconds for seconds, _ in runs)[times // 2], runs[0][1]


def test_fifty_traces_of_two_hundred_steps() -> None:
    rows = people(50, 200)
    theirs, their_columns = timed(plain, rows)
    ours, our_columns = best_of(5, rows)
    share = identical_pairs(rows, our_columns) / identical_pairs(rows, their_columns)
    print(f"\n50 x 200: ours {ours:.3f} s (median of 5), plain {theirs:.2f} s, {theirs / ours:.0f} times faster, "
          f"{share:.2%} of its identical pairs")  # fmt: skip
    assert share >= 0.99


def test_a_thousand_traces_of_fifty_steps() -> None:
    rows = people(1_000, 50)
    part = rows[:120]
    theirs, their_columns = timed(plain, part)
    own, own_columns = best_of(5, part)
    share = identical_pairs(part, own_columns) / identical_pairs(part, their_columns)
    begin = time.perf_counter()
    all_pairs(part)
    pairs = time.perf_counter() - begin
    ours, columns = best_of(3, rows)
    reckoned = pairs * (1_000 * 999) / (120 * 119) + (theirs - pairs) * 1_000 / 120
    tracemalloc.start()
    align_sequences(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    print(f"\n120 of them: ours {own:.3f} s, plain {theirs:.2f} s, {theirs / own:.0f} times faster, {share:.2%} of its "
          f"identical pairs\n1,000 x 50: ours {ours:.2f} s (median of 3), {len(columns)} columns, {peak / 2**20:.0f} MB at "
          f"most; plain, reckoned from 120: {reckoned:.0f} s, {reckoned / ours:.0f} times")  # fmt: skip
    assert share >= 0.99


# -- from the first step to the last


def big_page(screen: int, step: int, trace: int) -> str:
    """About 200 kB: a form of ten fields over a long table, the values of this trace in it."""
    number = iter(range(10_000 * (trace + 1), 10**9))
    fields = "".join(
        f'<p><label for="s{screen}f{at}">Field {at} of {screen}</label>'
        f'<input __id__="{next(number)}" id="s{screen}f{at}" name="f{at}" data-pp-value="{"" if at >= step else f"v{trace}"}"></p>'
        for at in range(10)
    )
    rows = "".join(
        f'<tr __id__="{next(number)}" class="line"><td class="name"><a __id__="{next(number)}" href="/c/{n}">Contact number {n}</a>'
        f'</td><td>words about the contact {n} that nobody reads</td><td><button __id__="{next(number)}">Delete</button></td></tr>'
        for n in range(880)
    )
    return (f"<html><head><title>Screen {screen}</title></head><body><main><h1>Screen {screen}</h1>{fields}"
            f'<button __id__="{next(number)}" id="next{screen}">Next</button><table id="contacts"><tbody>{rows}</tbody>'
            f"</table><p>{trace}-{step}</p></main></body></html>")  # fmt: skip


def big_trace(trace: int) -> ExecutionTrace:
    """Ten screens: nine fields and a button on each."""
    steps, data = [], {}
    for screen in range(10):
        for step in range(10):
            html = big_page(screen, step, trace)
            needle = f'id="next{screen}"' if step == 9 else f'id="s{screen}f{step}"'
            session = html[: html.index(needle)].rsplit('__id__="', 1)[1].split('"')[0]
            value = f"value {screen}.{step} of {trace}"
            if step < 9:
                data[f"s{screen}_f{step}"] = value
            steps.append(
                TraceStep(
                    action_type="click" if step == 9 else "input_text", target={"strategy": "__id__", "value": session},
                    args=None if step == 9 else {"text": value}, html_before=html, source_url=f"https://x.example/screen/{'abcdefghij'[screen]}",
                )
            )  # fmt: skip
    return ExecutionTrace(
        trace_id=f"t{trace}", task_description="fill in", steps=tuple(steps), input_data=data
    )


def test_ten_traces_of_a_hundred_steps_with_their_pages() -> None:
    traces = [big_trace(number) for number in range(10)]
    pages = [step.html_before or "" for trace in traces for step in trace.steps]
    sample = pages[::100]
    begin = time.process_time()
    for html in sample:
        assert StoredPage(PageSnapshot(url="", html=html)).roots
    parsing = (time.process_time() - begin) / len(sample)
    begin, cpu = time.perf_counter(), time.process_time()
    result = asyncio.run(MetaAgentPipeline(config=PipelineConfig(name="big")).from_traces(traces))
    seconds, own = time.perf_counter() - begin, time.process_time() - cpu
    assert result.failed_stage is None, result.error
    assert result.synthesis_report is not None
    assert result.synthesis_report.parameterizable_count == 90
    assert result.synthesis_report.agent_node_count == 0
    size = sum(map(len, pages)) / len(pages) / 1_000
    print(f"\n10 traces of 100 steps, {len(pages)} pages of {size:.0f} kB: {seconds:.2f} s by the clock, {own:.2f} s of "
          f"processor, as much as parsing {own / parsing:.0f} of the pages ({parsing * 1_000:.0f} ms each)")  # fmt: skip


if __name__ == "__main__":
    test_fifty_traces_of_two_hundred_steps()
    test_a_thousand_traces_of_fifty_steps()
    test_ten_traces_of_a_hundred_steps_with_their_pages()
