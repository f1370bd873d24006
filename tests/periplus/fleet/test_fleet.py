"""What every fleet does alike, wherever its workers are; and what a cluster does where nobody is there."""

from __future__ import annotations

import asyncio
import os
import socket
from contextlib import AsyncExitStack

import pytest
from distributed import LocalCluster

from periplus.errors import UserError
from periplus.fleet.dask_worker import SealedJson, parse_message
from periplus.fleet.fleet_setup import open_fleet
from periplus.fleet.jobs import Job, JobFailed
from periplus.fleet.workers_option import WorkerSelection, parse_workers


@pytest.fixture(
    scope="module", params=["2", "processes:2", pytest.param("address", marks=pytest.mark.nightly)]
)
async def fleet(request):
    async with AsyncExitStack() as stack:
        text = request.param
        if text == "address":  # a cluster that somebody else started
            cluster = await stack.enter_async_context(
                LocalCluster(
                    n_workers=1, threads_per_worker=2, processes=True, host="127.0.0.1", scheduler_port=0,
                    dashboard_address="127.0.0.1:0", worker_dashboard_address="127.0.0.1:0", asynchronous=True,
                )
            )  # fmt: skip
            text = cluster.scheduler_address
        yield await stack.enter_async_context(open_fleet(parse_workers(text)))


def job(kind="run", **body):
    return Job(kind=kind, key="row 1", body=body)


async def test_a_fleet_says_how_many_jobs_it_does_at_a_time(fleet):
    assert fleet.width == 2


async def test_a_kind_that_no_worker_knows_is_told(fleet):
    with pytest.raises(JobFailed, match="kind 'dance'") as told:
        await fleet.do(job("dance"))
    assert told.value.trouble.kind == "user"


async def test_what_cannot_be_read_is_a_defect_that_tells_no_value(fleet, tmp_path, monkeypatch):
    with pytest.raises(JobFailed) as told:
        await asyncio.wait_for(fleet.do(job(values={"password": "hidden-word"}, nonsense=1)), 60)
    assert told.value.trouble.kind == "defect"
    assert "hidden-word" not in f"{told.value} {told.value!r} {told.value.trouble!r} {told.value.job!r}"


async def test_many_jobs_are_asked_for_at_once_and_each_has_its_own_end(fleet):
    asked = [fleet.do(Job(kind=f"kind-{n}", key=f"row {n}")) for n in range(12)]
    ended = await asyncio.gather(*asked, return_exceptions=True)
    assert [each.job.key for each in ended] == [f"row {n}" for n in range(12)]
    assert all(f"kind-{n}" in str(each) for n, each in enumerate(ended))


@pytest.mark.parametrize("workers", ["1", pytest.param("processes:1", marks=pytest.mark.nightly)])
async def test_once_it_is_stopped_nothing_begins(workers):
    async with open_fleet(parse_workers(workers)) as opened:
        await opened.stop("enough")
        with pytest.raises(JobFailed, match="enough") as told:
            await opened.do(job("dance"))
        assert told.value.trouble.kind == "stopped"


async def test_workers_of_this_machine_keep_no_profiles_of_themselves():
    def list_looks(dask_worker):
        return {name: each.callback_time for name, each in dask_worker.periodic_callbacks.items()}

    async with open_fleet(parse_workers("processes:1")) as opened:
        (looks,) = (await opened._client.run(list_looks)).values()
    assert looks.keys() & {"profile", "profile-cycle"} == set()
    assert (looks["tick"], looks["monitor"]) == (1_000, 10_000)


@pytest.mark.nightly
async def test_ctrl_c_in_the_terminal_is_for_the_command_and_not_for_its_workers():
    async with open_fleet(parse_workers("processes:1")) as opened:
        (session,) = (await opened._client.run(os.getsid, 0)).values()
    assert session != os.getsid(0)


async def test_a_scheduler_that_is_not_there_is_told_with_what_to_start(monkeypatch):
    monkeypatch.setattr("periplus.fleet.cluster_fleet.CONNECT_S", 0.5)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(UserError, match="no Dask scheduler answers") as told:
            async with open_fleet(WorkerSelection("cluster", address=address)):
                pass
    assert "dask scheduler" in (told.value.fix or "")


def test_what_a_job_is_given_is_shown_nowhere_on_its_way():
    assert "hidden-word" not in repr(SealedJson.of(job(password="hidden-word")))


@pytest.mark.parametrize(
    "message", [None, "x", {}, {"job": 1}, {"job": "k", "said": object()}, ["job", "said"]]
)
def test_what_comes_over_the_wire_and_is_not_ours_is_not_heard(message):
    assert parse_message(message) is None
