"""The OpenAPI document: what it says is so (schemathesis), and it says enough."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from kb_store import load_knowledge, open_stores
from kb_store.audit.audit_log import AuditLog
from kb_store.audit.audit_recorder import use_audit_log
from loaders import read_knowledge_folder
from periplus.jobs.job_runner import JobCancelled, JobOutcome
from periplus.service.visits.visit_registry import VisitRegistry
from periplus.service.visits.visit_settings import VisitSettings
from periplus.web_server import service_setup
from tests.periplus.service.service_support import KEY, served
from tests.periplus.service.test_schedule_docs import SHOP, TASK
from tests.periplus.service.visits.visit_support import FLOW, Puppets

HERE = Path(__file__).parent
MANY = "300"
"""Examples of an operation in a nightly run."""
SCENARIOS = os.environ.get("PERIPLUS_TEST_SCENARIOS", "40")
LONGEST_WAIT_S = "70"
"""Of an answer: `wait` may be 60."""
LINKS = 10
"""Links that a stateful run follows at least; it was 16 and 17 of 63 (19 are stated, the others inferred), and 4 without hooks."""


@pytest.fixture(scope="module")
async def service(tmp_path_factory):
    links = VisitRegistry(Puppets(browser=None), VisitSettings())
    use_audit_log(AuditLog(tmp_path_factory.mktemp("audit")))
    async with served(tmp_path_factory.mktemp("openapi"), visits=links) as one:
        yield one
    use_audit_log(None)


@pytest.fixture(scope="module")
async def document(service):
    answer = await service.client.get("/api/openapi.json", headers={"X-API-Key": ""})
    return answer.json()


async def test_every_operation_has_a_summary_examples_and_its_errors(document):
    assert document["info"]["title"] == "Periplus"
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            place = f"{method} {path}"
            assert operation["summary"], place
            assert operation["description"], place
            if path == "/api/health":
                continue
            assert operation["security"] == [{"ApiKey": []}, {"Bearer": []}], place
            assert {"401", "429", "503"} <= operation["responses"].keys(), place
            for status, response in operation["responses"].items():
                if int(status) >= 400:
                    (media,) = response["content"]
                    assert media == "application/problem+json", place
                    assert response["content"][media]["example"]["status"] == int(status), place
    for name in (
        "RunRequest",
        "AcceptedRun",
        "RunView",
        "StepList",
        "ArtifactList",
        "HealthView",
        "VisitRequest",
        "VisitMade",
        "VisitView",
    ):
        assert document["components"]["schemas"][name]["examples"], name


async def test_what_is_made_names_the_operations_on_it(document):
    """Every operation with an id in its path is linked from the operation that makes such an id."""
    operations = {
        each["operationId"]: (path, each)
        for path, methods in document["paths"].items()
        for each in methods.values()
    }
    linked = set()
    for _, operation in operations.values():
        for response in operation["responses"].values():
            for name, link in response.get("links", {}).items():
                _, led_to = operations[link["operationId"]]
                assert link["parameters"].keys() <= {each["name"] for each in led_to["parameters"]}, name
                linked.add(link["operationId"])
    alone = {name for name, (path, _) in operations.items() if "{" in path} - linked
    assert alone == {"get_offered_picture", "accept"}  # they need an answer of a later state


async def test_the_example_of_a_request_is_accepted(service, document):
    (example,) = document["components"]["schemas"]["RunRequest"]["examples"]
    assert (await service.client.post("/api/run", json=example)).status_code == 202
    assert (await service.over(example["req_id"]))["verdict"] == "pass"


async def _schemathesis(service, folder, *options: str, hooks: str = "schemathesis_credentials") -> str:
    """Run all checks with a key and return what was said; `stateful` follows the links between operations."""
    program = Path(sys.executable).with_name("schemathesis")
    run = await asyncio.create_subprocess_exec(
        program, "--config-file", HERE / "schemathesis.toml", "--no-color", "run",
        f"{service.url}/api/openapi.json", "--header", f"X-API-Key: {KEY}", "--checks", "all",
        "--request-timeout", LONGEST_WAIT_S, "--max-response-time", LONGEST_WAIT_S, *options,
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env={**os.environ, "PYTHONWARNINGS": "ignore", "SCHEMATHESIS_HOOKS": hooks, "PYTHONPATH": str(HERE)},
    )  # fmt: skip
    said, _ = await run.communicate()
    assert run.returncode == 0, said.decode()[-6_000:]
    return said.decode()


async def test_schemathesis_finds_nothing(service, tmp_path):
    said = await _schemathesis(
        service, tmp_path, "--phases", "examples,coverage,fuzzing,stateful", "--max-examples", "3"
    )
    assert "Scenarios:" in said, "the stateful phase was left out"


@pytest.mark.nightly
@pytest.mark.timeout(2_700)
@pytest.mark.parametrize("which", ["include", "exclude"])
async def test_schemathesis_finds_nothing_with_many_examples(service, tmp_path, which):
    """The audit log comes first, while it is short: every request that follows makes its answers longer, and each of them is checked."""
    await _schemathesis(
        service, tmp_path, "--phases", "examples,coverage,fuzzing", "--max-examples", MANY,
        f"--{which}-path-regex", "^/api/audit",
    )  # fmt: skip


class Brief:
    """Performs each job in a moment, unless it is cancelled before."""

    resumable = False

    def begin(self, _job):
        return BriefWork()


class BriefWork:
    """One job."""

    def __init__(self):
        self.cancelled = asyncio.Event()

    async def done(self):
        with suppress(TimeoutError):
            await asyncio.wait_for(self.cancelled.wait(), 1.0)
            raise JobCancelled
        return JobOutcome(outcome="success")

    async def stop(self, *, leave):
        self.cancelled.set()


class AnyFlow(Puppets):
    """Shows the tour, whatever the flow is called."""

    async def flow(self, website, _flow):
        return await super().flow(None, None)


@pytest.mark.nightly
@pytest.mark.timeout(900)
async def test_the_links_of_the_document_are_followed(tmp_path, monkeypatch):
    """What the document's examples make is looked at, changed and ended; schemathesis finds nothing there."""
    kinds = ("task", "sentence", "verification", "map", "demo")
    monkeypatch.setattr(service_setup, "build_performers", lambda *_: dict.fromkeys(kinds, Brief()))
    (tmp_path / "kb").mkdir()
    flow = {"type": "presentation_flow", "website_id": "shop", **FLOW.to_json()}
    for name, each in {"website": SHOP, "task": TASK, "flow": flow}.items():
        (tmp_path / "kb" / f"{name}.json").write_text(json.dumps(each))
    async with open_stores(tmp_path) as stores:
        await load_knowledge(stores.documents, stores.graph, read_knowledge_folder(tmp_path / "kb")[0])
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "login.csv").write_text("Element,Action\n")
    links = VisitRegistry(AnyFlow(browser=None), VisitSettings())
    async with served(tmp_path, visits=links, serve_webhooks="https://ci.example.com") as one:
        await one.client.get("/api/openapi.json", timeout=120)  # made at the first request
        said = await _schemathesis(
            one, tmp_path, "--phases", "stateful", "--max-examples", SCENARIOS, hooks="schemathesis_hooks"
        )
    (followed,) = re.findall(r"API Links: +(\d+) covered", said)
    assert int(followed) >= LINKS, said
