"""The film of a demo on its run's page: it plays, one may jump in it, its captions are there, nothing else is given away."""

from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from axe_playwright_python.async_playwright import Axe

from agent.run_records.run_log import compute_digest
from kb_schema.run_records import Artifact, RunEnding, StoredRun
from kb_store.store_factory import open_runs
from periplus.console import run_artifacts
from tests.periplus.service.service_support import KEY, Served, served

NOW = datetime.now(UTC)
PHONE = {"width": 390, "height": 844}
WEBVTT = "WEBVTT\n\n00:00.000 --> 00:02.000\nWelcome to the harbour\n"
WEBM = b"\x1a\x45\xdf\xa3 a film that nobody decodes" + bytes(range(200))
KINDS = {
    "demo.webm": "film", "demo-silent.webm": "film", "captions.vtt": "captions", "captions.srt": "captions",
    "poster.jpg": "picture",
}  # fmt: skip


@dataclass
class Place:
    served: Served
    runs: object
    data: Path

    async def shown(self, run_id: str, **files: bytes) -> Path:
        """A demo that left these files, outside of the service's own folder."""
        folder = self.data / "elsewhere" / run_id
        folder.mkdir(parents=True)
        run = StoredRun(
            run_id=run_id, url="http://x/", started_at=NOW, website_id="harbour", kind="demo", subject="tour"
        )
        await self.runs.begin_run(run)
        for name, content in files.items():
            file = folder / name
            file.write_bytes(content)
            await self.noted(run_id, file)
        ending = RunEnding(
            status="success",
            evidence="unverified",
            finished_at=NOW + timedelta(minutes=1),
            duration_ms=60_000,
        )
        await self.runs.finish_run(run_id, ending)
        return folder

    async def noted(self, run_id: str, file: Path) -> None:
        path, file_hash, size = compute_digest(file)
        await self.runs.put_artifact(
            Artifact(
                run_id=run_id, name=file.name, artifact_type=KINDS[file.name], file_path=path, file_hash=file_hash,
                size_bytes=size, created_at=NOW,
            )
        )  # fmt: skip


@pytest.fixture
async def place(tmp_path) -> AsyncIterator[Place]:
    async with open_runs(tmp_path) as runs, served(tmp_path) as service:
        yield Place(service, runs, tmp_path)


@pytest.fixture(scope="module")
def film(ffmpeg, tmp_path_factory) -> bytes:
    file = tmp_path_factory.mktemp("film") / "demo.webm"
    drawn = ["-f", "lavfi", "-i", "testsrc=duration=3:size=128x72:rate=10"]
    subprocess.run(
        ["ffmpeg", "-loglevel", "error", *drawn, "-c:v", "libvpx", "-b:v", "400k", "-g", "5", str(file)],
        check=True,
    )
    return file.read_bytes()


async def test_the_film_of_a_demo_plays_on_its_page_with_captions_and_one_may_jump_in_it(
    place, browser, film
):
    files = {"demo.webm": film, "captions.vtt": WEBVTT.encode(), "poster.jpg": b"\xff\xd8\xff\xe0"}
    await place.shown("demo-1", **files)
    context = await browser.new_context(viewport=PHONE, extra_http_headers={"X-API-Key": KEY})
    page = await context.new_page()
    pieces = []
    page.on("response", lambda each: pieces.append(each.status) if each.url.endswith("/film") else None)
    await page.goto(f"{place.served.url}/demos")
    await page.get_by_role("link", name="watch the film").click()
    await page.wait_for_url("**/runs/demo-1#film")
    reached = await page.locator("video").evaluate(
        """async (video) => {
            const until = (name, target = video) => new Promise((done) => target.addEventListener(name, done, { once: true }));
            if (video.readyState < 1) await until("loadedmetadata");
            const jumped = until("seeked");
            video.currentTime = 2.5;
            await jumped;
            const track = video.querySelector("track");
            if (track.readyState < 2) await until("load", track);
            return [video.currentTime, Math.round(video.duration), [...track.track.cues].map((cue) => cue.text)];
        }"""
    )
    assert reached == [2.5, 3, ["Welcome to the harbour"]]
    assert set(pieces) == {206}, "it comes piece by piece"
    assert (await Axe().run(page)).response["violations"] == []
    assert await page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    await context.close()


async def test_a_piece_of_a_film_is_given_to_whoever_asks_for_it(place):
    folder = await place.shown("demo-1", **{"demo-silent.webm": WEBM + b"no sound", "demo.webm": WEBM})
    whole = await place.served.client.get("/runs/demo-1/film")
    assert (whole.status_code, whole.content) == (200, WEBM), "the one with sound"
    assert whole.headers["content-type"] == "video/webm"
    assert whole.headers["accept-ranges"] == "bytes"
    piece = await place.served.client.get("/runs/demo-1/film", headers={"Range": "bytes=4-8"})
    assert (piece.status_code, piece.content) == (206, WEBM[4:9])
    assert piece.headers["content-range"] == f"bytes 4-8/{len(WEBM)}"
    beyond = await place.served.client.get("/runs/demo-1/film", headers={"Range": "bytes=9000-"})
    assert beyond.status_code == 416
    assert "The film has no captions." in (await place.served.client.get("/runs/demo-1")).text
    (folder / "demo.webm").write_bytes(WEBM[::-1])
    changed = await place.served.client.get("/runs/demo-1/film")
    assert changed.content == WEBM + b"no sound", "what was changed since is not this run's film"


async def test_what_only_calls_itself_a_film_or_captions_is_not_given_away(place):
    await place.shown(
        "demo-1", **{"demo.webm": b"<script>alert(1)</script>", "captions.vtt": b"<script>alert(2)</script>"}
    )
    await place.shown("demo-2", **{"demo.webm": WEBM, "captions.vtt": b"<script>", "poster.jpg": b"<svg>"})
    for path in ("/runs/demo-1/film", "/runs/demo-2/film/captions", "/runs/demo-2/film/poster"):
        assert (await place.served.client.get(path)).status_code == 404, path
    assert "<video" not in (await place.served.client.get("/runs/demo-1")).text
    assert (await place.served.client.get("/runs/demo-2/film/other")).status_code == 422
    assert (await place.served.client.get("/runs/demo-3/film")).status_code == 404


def test_a_large_file_is_hashed_once_for_as_long_as_nobody_touches_it(tmp_path, monkeypatch):
    file = tmp_path / "demo.webm"
    file.write_bytes(WEBM)
    path, file_hash, size = compute_digest(file)
    said = {"run_id": "r", "name": "demo.webm", "artifact_type": "film", "created_at": NOW}
    artifact = Artifact(**said, file_path=path, file_hash=file_hash, size_bytes=size)
    hashed = []
    monkeypatch.setattr(
        run_artifacts, "compute_digest", lambda each: hashed.append(each) or compute_digest(each)
    )
    monkeypatch.setattr(run_artifacts, "SETTLED_S", -1.0)  # as if it had been written long ago
    assert [run_artifacts.find_artifact(artifact) for _ in range(3)] == [file.resolve()] * 3
    assert len(hashed) == 1
    stat = file.stat()
    other = tmp_path / "other"
    other.write_bytes(WEBM[::-1])
    os.utime(other, ns=(stat.st_atime_ns, stat.st_mtime_ns))  # as whoever wants to deceive would
    other.replace(file)
    assert run_artifacts.find_artifact(artifact) is None
