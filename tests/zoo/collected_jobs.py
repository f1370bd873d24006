"""Measures whether runs that are collected give the same workflow as the recordings they come from.

A job is recorded three times and made into a workflow, as in `tests.zoo.zoo_measurement`. The workflow is run by `periplus
collect` with the values of the demonstrations, each from the seed; the traces of these runs are made into a second workflow.
Both are compared, and both are run on the job's other instances.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from agent.synthesis.synthesis_pipeline import PipelineResult
from kb_store import open_stores
from kb_store.store_factory import open_runs
from tests.support import warm
from tests.zoo.zoo_jobs import Job, RunningApplication
from tests.zoo.zoo_measurement import Ending, JobMeasurement, LearnedJob, find_differences, learn_workflow

MOST = 10
"""Instances on which each of the two workflows is run."""
COLLECT_LIMIT_S = 300.0
TRACES_OF_THEIR_OWN = ("provenance", "fingerprint", "selector", "target")
"""Left out of `shape`: ids of traces, and what tells an element, of which several are right."""


@dataclass(slots=True)
class CollectedFigures:
    """What was measured of one job."""

    application: str
    job: str
    reason: str = ""
    """Why there are no two workflows."""
    same: bool = False
    """Whether both workflows have the same documents, without the ids of traces."""
    alike: bool = False
    """Whether they have the same inputs, steps and criteria, and differ only in what tells an element."""
    differences: tuple[str, ...] = ()
    recorded: list[Ending] = field(default_factory=list)
    collected: list[Ending] = field(default_factory=list)


def list_documents(result: PipelineResult, *, left_out: Sequence[str]) -> list[Any]:
    """Return the documents of a workflow, without the keys that are left out."""
    assert result.lowered is not None
    documents = (result.lowered.workflow, *result.lowered.tasks)
    return [_without(each.to_json(), frozenset(left_out)) for each in documents]


def _without(value: Any, keys: frozenset[str]) -> Any:
    if isinstance(value, dict):
        return {key: _without(each, keys) for key, each in value.items() if key not in keys}
    return [_without(each, keys) for each in value] if isinstance(value, list) else value


async def measure_collection(
    measurement: JobMeasurement, running: RunningApplication, application: str, job: Job, folder: Path
) -> CollectedFigures:
    """Record, collect and compare one job. `folder`: for sessions, stores and collections."""
    figures = CollectedFigures(application, job.name)
    recorded_stores, own_stores = folder / "recorded" / "stores", folder / "collected" / "stores"
    async with open_stores(recorded_stores) as stores:
        recorded = await measurement.learn(job, "values", folder / "recorded" / "values", stores)
    if isinstance(recorded, str):
        figures.reason = f"of the recordings: {recorded}"
        return figures
    collected = await _collect(running, job, recorded, recorded_stores, own_stores)
    if isinstance(collected, str):
        figures.reason = f"of the collected runs: {collected}"
        return figures
    both = [list_documents(each.result, left_out=("provenance",)) for each in (recorded, collected)]
    shapes = [list_documents(each.result, left_out=TRACES_OF_THEIR_OWN) for each in (recorded, collected)]
    figures.same, figures.alike = both[0] == both[1], shapes[0] == shapes[1]
    figures.differences = tuple(find_differences(both[0], both[1])[:12])
    for learned, at, endings in (
        (recorded, recorded_stores, figures.recorded),
        (collected, own_stores, figures.collected),
    ):
        async with open_stores(at) as stores, open_runs(at, None) as runs:
            for instance in job.unseen[:MOST]:
                endings.append(
                    await measurement.run_instance(job, "values", learned, instance, stores, runs, at.parent)
                )
    return figures


async def _collect(
    running: RunningApplication, job: Job, recorded: LearnedJob, knowledge: Path, stores_folder: Path
) -> LearnedJob | str:
    """Run the workflow once for each demonstration; return the workflow of these runs, or why there is none."""
    folders = []
    for number, instance in enumerate(job.demonstrations):
        inputs = recorded.bind(instance, "values")
        if isinstance(inputs, str):
            return inputs
        await running.reset()
        out = stores_folder.parent / f"collection-{number}"
        said = await asyncio.to_thread(collect_run, recorded, running.base_url, inputs, knowledge, out)
        found = sorted(each.parent for each in out.rglob("manifest.json"))
        if said or len(found) != 1:
            return f"run {number + 1}: {said or f'{len(found)} traces'}"
        folders += found
    async with open_stores(stores_folder) as stores:
        learned = await learn_workflow(folders, job, "values", stores, running.base_url)
    if isinstance(learned, str):
        return learned
    workflow_id, result = learned
    return LearnedJob(workflow_id, result, job.demonstrations, folders, running.secrets)


def collect_run(
    recorded: LearnedJob, base_url: str, inputs: Mapping[str, Any], knowledge: Path, out: Path
) -> str:
    """Run `periplus collect` with one row of inputs into `out`; return what it said if the run did not succeed."""
    assert recorded.result.lowered is not None
    secret = {each.name for each in recorded.result.lowered.workflow.io_spec.inputs if each.secret}
    out.parent.mkdir(parents=True, exist_ok=True)
    rows = out.parent / f"{out.name}.jsonl"
    rows.write_text(json.dumps({name: value for name, value in inputs.items() if name not in secret}) + "\n")
    given = [part for name in sorted(secret) for part in ("-i", f"{name}={inputs[name]}")]
    done = warm.run(
        "periplus", "collect", recorded.workflow_id, "--website", "zoo", "--base-url", base_url,
        "--inputs", str(rows), "--workers", "1", "--allow-unverified", "--out", str(out), *given,
        cwd=out.parent, env={"COLUMNS": "200", "PERIPLUS_DATA_DIR": str(knowledge.resolve())}, timeout=COLLECT_LIMIT_S,
    )  # fmt: skip
    return (
        ""
        if done.returncode == 0
        else f"exit code {done.returncode}: {(done.stderr or done.stdout).strip()[-400:]}"
    )


def format_collection(figures: Mapping[str, Any]) -> str:
    """Return one job's figures as a line, with a line for each run that was not right and each difference."""
    name = f"{figures['application']} {figures['job']}"
    if figures["reason"]:
        return f"{name}: {figures['reason']}"
    told = "the same" if figures["same"] else "alike" if figures["alike"] else "different"
    parts = [f"workflows {told}"]
    lines = [f"  differs: {each}" for each in figures["differences"]]
    for source in ("recorded", "collected"):
        endings = figures[source]
        right = sum(each["outcome"] == "right" for each in endings)
        wrong = sum(each["outcome"] in ("false_success", "beside") for each in endings)
        parts.append(f"{source}: {right} of {len(endings)} right, {wrong} wrong")
        lines += [
            f"  {source} {each['instance']} ({each['kind']}): {each['outcome']} {each['claim']} {each['said'][:160]}"
            for each in endings
            if each["outcome"] != "right"
        ]
    return "\n".join([f"{name}: {'; '.join(parts)}", *lines])


def as_line(figures: CollectedFigures, measured: str) -> str:
    """Return the figures as a line of JSON, with the day."""
    return json.dumps(asdict(figures) | {"measured": measured}, ensure_ascii=False) + "\n"
