"""`POST /api/collections`: a task is run many times by the service, with a trace of each run (MA 1)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kb_schema.session_reader import read_manifest
from kb_store import load_knowledge, open_stores
from loaders import read_knowledge_folder
from tests.periplus.service.service_support import served
from tests.support.small_sites import Answered, running_site

HARBOUR = Path(__file__).parent.parent / "data" / "harbour"
BOATS = {"website_id": "harbour", "task_id": "register_boat"}


@pytest.fixture
async def data(tmp_path):
    async with open_stores(tmp_path) as stores:
        await load_knowledge(stores.documents, stores.graph, read_knowledge_folder(HARBOUR / "kb")[0])
    return tmp_path


async def until_over(client, path):
    return (await client.get(path, params={"wait": 60}, timeout=70)).json()


async def test_a_collection_over_rest_runs_each_row_and_keeps_its_trace(data, site):
    async with served(data, base_urls={"harbour": site.url}) as service:
        rows = [{"boat_name": "Tern", "length": "6"}, {"boat_name": "Skua", "length": "9"}]
        accepted = await service.client.post("/api/collections", json={**BOATS, "inputs": rows})
        assert accepted.status_code == 202, accepted.text
        path = accepted.headers["location"]
        over = await until_over(service.client, path)
        assert (over["state"], over["total"], over["done"]) == ("ended", 2, 1)  # no boat has a length of 9
        first, second = over["rows"]
        assert (first["status"], first["error"]) == ("success", None)
        assert (second["status"], bool(second["error"])) == ("failure", True)
        assert [boat["name"] for boat in site.state()["boats"]] == ["Tern"]
        sessions = [each.parent for each in (service.folder / over["traces"]).rglob("manifest.json")]
        assert len(sessions) == 2
        assert {read_manifest(each).input_data["boat_name"] for each in sessions} == {"Tern", "Skua"}
        too_late = await service.client.post(f"{path}/cancel")
        assert (too_late.status_code, too_late.json()["code"]) == (409, "not_running")
    async with served(data) as again:  # what ended is still there after a restart
        assert (await again.client.get(path)).json() == over


async def test_a_collection_that_waits_is_cancelled_and_inputs_are_made_if_none_are_given(data, site):
    async with served(data, base_urls={"harbour": site.url}) as service:
        one, other = [
            (await service.client.post("/api/collections", json={**BOATS, "runs": runs, "make": {"length": ["6"]}})).json()
            for runs in (1, 3)
        ]  # fmt: skip
        assert other["state"] == "waiting"
        ended = await service.client.post(f"/api/collections/{other['collection_id']}/cancel")
        assert (ended.json()["state"], ended.json()["rows"]) == ("cancelled", [])
        over = await until_over(service.client, f"/api/collections/{one['collection_id']}")
        assert (over["state"], over["done"]) == ("ended", 1)
        assert len(site.state()["boats"]) == 1


UPLOADS = {
    "type": "task", "task_id": "give", "website_id": "harbour",
    "io_spec": {"inputs": [{"name": "paper", "source": "user_input"}]},
    "steps": [
        {"step_id": "open", "action": {"action_type": "navigate", "url": "/"}},
        {"step_id": "give", "action": {"action_type": "upload_file", "target": "#paper", "value": "{paper}"}},
    ],
}  # fmt: skip
PAPER = """<!doctype html><title>Papers</title><input id=paper type=file><script>
  document.getElementById('paper').onchange = async event =>
    fetch('/given', {method: 'POST', body: 'text=' + await event.target.files[0].text()});
</script>"""


async def test_a_collection_uploads_files_of_the_upload_folder_only(data, tmp_path):
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "paper.txt").write_text("public")
    (tmp_path / "private.txt").write_text("private")
    (tmp_path / "files" / "link.txt").symlink_to(tmp_path / "private.txt")
    (tmp_path / "kb").mkdir()
    (tmp_path / "kb" / "give.json").write_text(json.dumps(UPLOADS))
    website = {"type": "website", "website_id": "harbour", "name": "H", "base_url": "https://harbour.example"}
    (tmp_path / "kb" / "website.json").write_text(json.dumps(website))
    async with open_stores(data) as stores:
        await load_knowledge(stores.documents, stores.graph, read_knowledge_folder(tmp_path / "kb")[0])
    with running_site(lambda _: Answered(PAPER)) as papers:
        async with served(data, base_urls={"harbour": papers.base}) as service:
            names = [
                "paper.txt",
                "../private.txt",
                str(tmp_path / "private.txt"),
                "link.txt",
                "/etc/hostname",
            ]
            asked = {
                "website_id": "harbour",
                "task_id": "give",
                "inputs": [{"paper": each} for each in names],
            }
            accepted = await service.client.post("/api/collections", json=asked)
            assert accepted.status_code == 202, accepted.text
            over = await until_over(service.client, accepted.headers["location"])
    assert [dict(each.form)["text"] for each in papers.writes] == ["public"]
    refused = [each["error"] for each in over["rows"][1:]]
    assert all("is not in the upload folder" in each for each in refused), refused


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"task_id": "nothing"}, 422, "no task or workflow 'nothing'"),
        ({"website_id": "nowhere"}, 404, "no website 'nowhere'"),
        ({"inputs": [{"boat": "Tern"}]}, 422, "row 1: register_boat has no input 'boat'"),
        ({"inputs": [{"boat_name": "Tern"}], "runs": 2}, 422, "has them already"),
        (
            {"values": {"boat_name": "{secret:HOME}"}},
            422,
            "{secret:HOME} is not allowed in $.values.boat_name",
        ),
        ({"make": {"boat": "name"}}, 422, "has no input 'boat'"),
        ({"workers": 99}, 422, "1 invalid field"),
    ],
)
async def test_a_wrong_collection_is_refused_with_what_to_do(data, body, status, said):
    async with served(data) as service:
        refused = await service.client.post("/api/collections", json={**BOATS, **body})
        assert (refused.status_code, said in refused.json()["detail"]) == (status, True), refused.text
        assert refused.json()["fix"]
        assert not (service.folder / "collections").exists()
        unknown = await service.client.get("/api/collections/none")
        assert unknown.status_code == 404
