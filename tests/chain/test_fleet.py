"""Workers die, are cut off or stopped, and everything is done in the end, once: Spadeworks counts."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from rich.console import Console

from agent.exploration.website_exploration import explore
from kb_schema.exploration_folder import ExplorationFolder
from kb_schema.run_records import RunStatus
from kb_store import load_knowledge, open_stores
from kb_store.runs.run_leases import find_live_holder
from kb_store.store_factory import open_runs
from loaders.files.folder_reader import read_knowledge_folder
from periplus.demos.demo_rehearsal import TABLE, RehearsalSettings, rehearse_demo
from periplus.demos.rehearsal_run import run_rehearsal
from periplus.errors import UserError
from periplus.fleet.exploration_jobs import FleetExplorationParts
from periplus.fleet.fenced_runs import fleet_lease_name
from periplus.fleet.fleet_setup import open_fleet, write_folder_mark
from periplus.fleet.job_kinds import attempt_job
from periplus.fleet.jobs import Job
from periplus.fleet.run_collection import RunCollection, RunCollectionSettings, collect_runs
from periplus.fleet.run_jobs import RunJobBody
from periplus.fleet.worker_resources import StoreAddresses, WorkerResources
from periplus.fleet.workers_option import parse_workers
from periplus.seed_sites.seed_manifests import find_seed
from tests.agent.exploration.small_site import html, small_site
from tests.chain.conftest import HARBOUR
from tests.periplus.fleet.test_fenced_runs import CutOff
from tests.support import warm
from tests.support.live_spadeworks import ACCOUNT, SEED


@pytest.fixture(params=["embedded"])
async def shelf(tmp_path, request):
    url = request.getfixturevalue("mongodb_url") if request.param == "mongodb" else None
    knowledge, _ = read_knowledge_folder(SEED / "kb")
    async with open_stores(tmp_path / "data", mongodb_url=url) as stores:
        await load_knowledge(stores.documents, stores.graph, knowledge)
    return StoreAddresses(data_dir=str(tmp_path / "data"), mongodb_url=url)


def created(live, *names):
    """How many agents of each name there are, whoever made them: every browser context is a visitor."""
    agents = [
        agent["name"]
        for each in live.state()["visitors"]
        for agent in live.ask(f"state?visitor={each['id']}")["agents"]
    ]
    return [agents.count(name) for name in names]


class Killer:
    """Kills the worker that is at a row when that row says it did a step. Only such a worker, by its own id."""

    def __init__(self, shelf, collection, wanted):
        self._shelf, self._collection, self._wanted = shelf, collection, dict(wanted)
        self.killed = []
        self._killing = set()

    def __call__(self, row, said):
        if self._wanted.get(row) == said["step"]:
            del self._wanted[row]
            self._killing.add(asyncio.create_task(self.kill(row)))

    async def kill(self, row):
        async with open_runs(Path(self._shelf.data_dir), self._shelf.mongodb_url) as runs:
            held = await find_live_holder(runs.leases, fleet_lease_name(self._collection.run_id(row)))
        assert held is not None
        assert held.owner.pid != os.getpid()
        os.kill(held.owner.pid, signal.SIGKILL)
        self.killed.append(row)


def collection_of(live):
    return RunCollection(
        task_id="create_agent",
        website_id="spadeworks",
        inputs="names.csv",
        inputs_sha256="",
        base_url=live.base,
    )


@asynccontextmanager
async def collecting(live, shelf, folder, names, workers, wanted=()):
    """All rows, on workers that die as is wanted."""
    live.clear()
    folder.mkdir(exist_ok=True)
    collection = collection_of(live)
    killer = Killer(shelf, collection, wanted)
    rows = [{"agent_name": name} for name in names]
    async with open_fleet(parse_workers(workers)) as fleet:
        came = await collect_runs(
            collection,
            rows,
            fleet,
            RunCollectionSettings(shelf, folder, ACCOUNT),
            tell=lambda _: None,
            heard=killer,
        )
    yield came, killer, collection


@pytest.mark.always
@pytest.mark.timeout(600)
async def test_a_worker_is_killed_in_mid_run_and_everything_is_done_once(live, shelf, tmp_path):
    names = [f"Killed {number}" for number in range(3)]
    done = collecting(
        live, shelf, tmp_path / "out", names, "processes:2", {1: "create_agent.fill_agent_name"}
    )
    async with done as (came, killer, _):
        assert killer.killed == [1]
        assert [each.ran and each.ran.status for each in came] == [RunStatus.SUCCESS] * 3, came
        assert came[0].ran.how == "carried_on"
        assert created(live, *names) == [1, 1, 1]


@pytest.mark.nightly
@pytest.mark.timeout(900)
@pytest.mark.mongodb
@pytest.mark.parametrize("shelf", ["embedded", "mongodb"], indirect=True)
async def test_workers_are_killed_at_every_kind_of_moment_and_everything_is_done_once(live, shelf, tmp_path):
    kept = "in MongoDB" if shelf.mongodb_url else "here"  # the site counts what both of these tests do
    names = [f"Anywhere {kept} {number}" for number in range(8)]
    moments = {
        1: "create_agent.navigate_to_create",
        3: "create_agent.select_language",
        5: "create_agent.submit_form",
        7: "login.fill_email",
    }
    async with collecting(live, shelf, tmp_path / "out", names, "processes:2", moments) as (
        came,
        killer,
        again,
    ):
        assert sorted(killer.killed) == [1, 3, 5, 7]
        assert [each.ran and each.ran.status for each in came] == [RunStatus.SUCCESS] * 8, came
        assert created(live, *names) == [1] * 8
        async with open_fleet(parse_workers("2")) as fleet:
            rows = [{"agent_name": name} for name in names]
            settings = RunCollectionSettings(shelf, tmp_path / "out", ACCOUNT)
            found = await collect_runs(again, rows, fleet, settings, tell=lambda _: None)
        assert [each.ran.how for each in found] == ["found"] * 8
        assert created(live, *names) == [1] * 8


@pytest.mark.sampled(0.5)
@pytest.mark.timeout(600)
async def test_a_site_is_mapped_by_two_processes_of_which_one_is_killed(browser, tmp_path):
    pages = {
        "/": html(
            "Home", "<a href=/list>List</a><a href=/help>Help</a><a href=/about>About</a><a href=/new>New</a>"
        ),
        "/list": html("List", "<ul><li><a href=/item/1>One</a><li><a href=/item/2>Two</a></ul>"),
        "/new": html(
            "New", "<form method=post action=/save><input name=n required><button>Save</button></form>"
        ),
        "*": html("Page", "<p>Text</p>"),
    }
    killed = []
    with small_site(pages) as site:
        async with open_fleet(parse_workers("processes:2")) as fleet:

            def kill_one(_path, _cookies):
                if not killed:
                    killed.append(pids[0])
                    os.kill(pids[0], signal.SIGKILL)
                return html("Help", "<a href=/deep>Read on</a>")

            site.pages["/help"] = kill_one
            pids = list((await fleet._client.run(os.getpid)).values())
            done = await explore(
                browser, site.wanted(allowed=("Save",)), tmp_path, workers=FleetExplorationParts(fleet)
            )
        found = {page.url.removeprefix(site.url) for page in ExplorationFolder(tmp_path).pages()}
        assert killed
        assert os.getpid() not in killed
        assert done.ended_by == "done"
        assert {"/", "/list", "/help", "/deep", "/about", "/new", "/item/1", "/save"} <= found
        assert site.asked["POST /save"] == 1
        assert {each for each in site.asked if not each.startswith("GET")} == {"POST /save"}


@pytest.mark.nightly
@pytest.mark.timeout(900)
async def test_a_worker_killed_after_the_site_took_the_form_and_before_it_answered_is_not_asked_again(
    live, shelf, tmp_path
):
    live.clear()
    (tmp_path / "out").mkdir()
    collection = collection_of(live)
    killer = Killer(shelf, collection, {})
    live.ask("faults", kind="delay", path="^/agent$", method="GET", ms=20_000, times=1)
    async with open_fleet(parse_workers("processes:2")) as fleet:
        work = asyncio.create_task(
            collect_runs(
                collection, [{"agent_name": "Taken"}], fleet, RunCollectionSettings(shelf, tmp_path / "out", ACCOUNT),
                tell=lambda _: None,
            )
        )  # fmt: skip
        while created(live, "Taken") == [0] and not work.done():
            await asyncio.to_thread(live.state)
        await killer.kill(1)
        (came,) = await work
    assert came.ran is not None, came
    assert came.ran.status is RunStatus.SUCCESS
    assert came.ran.how == "carried_on"
    assert created(live, "Taken") == [1]


@pytest.mark.nightly
@pytest.mark.timeout(900)
async def test_a_browser_that_dies_in_mid_run_is_replaced_and_the_run_is_carried_on(live, shelf, tmp_path):
    live.clear()
    (tmp_path / "out").mkdir()
    collection, ending = collection_of(live), []
    async with open_fleet(parse_workers("1")) as fleet:

        def heard(_row, said):
            if said["step"] == "create_agent.fill_agent_name" and not ending:
                ending.append(asyncio.create_task(fleet.home._kept["browser"].close()))

        settings = RunCollectionSettings(shelf, tmp_path / "out", ACCOUNT)
        rows = [{"agent_name": "Phoenix"}]
        (came,) = await collect_runs(collection, rows, fleet, settings, tell=lambda _: None, heard=heard)
    assert ending
    assert came.ran is not None, came
    assert (came.ran.status, came.ran.how) == (RunStatus.SUCCESS, "carried_on")
    assert created(live, "Phoenix") == [1]


@pytest.mark.nightly
@pytest.mark.timeout(900)
async def test_a_worker_cut_off_from_the_store_lets_go_and_another_one_ends_it_once(live, shelf, tmp_path):
    live.clear()
    (tmp_path / "out").mkdir()
    collection, cut, other = collection_of(live), WorkerResources(), WorkerResources()
    with write_folder_mark(tmp_path / "out") as mark:
        body = RunJobBody(
            store_addresses=shelf, website_id="spadeworks", task_id="create_agent", run_id=collection.run_id(1),
            values={"agent_name": "Cut off", **ACCOUNT}, base_url=live.base, folder=str(tmp_path / "out" / "1"),
            mark=mark, lease_s=6,
        )  # fmt: skip
        job = Job(kind="run", key="row 1", body=body.model_dump(mode="json"))
        _, runs = await cut.open_stores(shelf)
        away = CutOff(runs)
        cut._kept["runs", shelf] = away

        def heard(said):
            if said["step"] == "create_agent.fill_agent_name":
                away.cut.set()
                live.ask("faults", kind="delay", path="/agent", ms=15_000, times=0)

        first = asyncio.create_task(attempt_job(cut, job, heard))
        await away.cut.wait()
        second = asyncio.create_task(attempt_job(other, job, lambda _: None))
        let_go = await first
        live.clear()
        assert let_go.trouble is not None
        assert let_go.trouble.kind == "lost"
        ended = await second
    await cut.close()
    await other.close()
    assert ended.trouble is None, ended
    assert ended.result["status"] == RunStatus.SUCCESS
    assert created(live, "Cut off") == [1]


@pytest.mark.nightly
@pytest.mark.timeout(900)
@pytest.mark.parametrize("workers", ["2", "processes:2"])
async def test_walks_of_a_rehearsal_are_done_at_the_same_time_and_find_what_one_after_the_other_finds(
    tmp_path, workers
):
    seed = find_seed(str(HARBOUR))
    console = Console(file=io.StringIO())
    alone = await rehearse_demo(seed, RehearsalSettings(), data_dir=tmp_path / "a", out=tmp_path / "alone")
    settings = RehearsalSettings(workers=workers)
    ready = await run_rehearsal(seed, settings, tmp_path / "b", tmp_path / "fleet", console)
    found = json.loads((tmp_path / "fleet" / TABLE).read_text())
    told = alone.to_json()
    assert ready is told["ready"]
    assert [each["name"] for each in found["walks"]] == [each["name"] for each in told["walks"]]
    shown = [[(s["segment_id"], s["status"]) for s in walk["segments"]] for walk in found["walks"]]
    assert shown == [[(s["segment_id"], s["status"]) for s in walk["segments"]] for walk in told["walks"]]
    assert {each["kind"] for each in found["risks"]} == {each["kind"] for each in told["risks"]}


async def test_walks_on_one_site_are_not_done_at_the_same_time(tmp_path):
    settings = RehearsalSettings(workers="2", base_url="http://127.0.0.1:9")
    with pytest.raises(UserError, match="one after the other"):
        await run_rehearsal(
            find_seed("spadeworks"), settings, tmp_path, tmp_path / "out", Console(file=io.StringIO())
        )


@pytest.mark.nightly
@pytest.mark.timeout(900)
def test_requirements_that_processes_verify_make_one_suite_of_tests(tmp_path):
    env = {"PERIPLUS_DATA_DIR": str(tmp_path / "data"), "SPADEWORKS_PASSWORD": ACCOUNT["password"]}
    file = str(SEED / "requirements" / "spadeworks.csv")
    told = {}
    for workers in ("2", "processes:2"):
        name = workers.replace(":", "-")
        done = warm.run(
            "periplus", "verify", file, "--seed", "spadeworks", "--only", "account", "--only", "agents",
            "--workers", workers, "--out", name, cwd=tmp_path, env=env, timeout=400,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        folder = tmp_path / name / "generated_tests"
        told[workers] = sorted(str(each.relative_to(folder)) for each in folder.rglob("*.py"))
        assert list((tmp_path / name).glob(".fleet-*")) == []
    assert told["2"] == told["processes:2"]
    assert len([each for each in told["2"] if "test_" in each]) >= 3
