"""Sites of a few pages with a state of their own, on which people are recorded and workflows run."""

from __future__ import annotations

import random
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from agent.execution.task_runner import TaskRunner
from agent.execution.workflow_runner import run_workflow
from agent.synthesis.synthesis_pipeline import PipelineResult, add_workflow_documents
from kb_schema import SourcedDocument, assemble
from kb_schema.documents import Document
from kb_schema.run_records import RunResult
from kb_schema.websites import Website
from kb_store import Stores, load_knowledge, open_stores
from periplus.session_setup import open_fresh_context, open_session
from periplus.synthesis.workflow_synthesis import induce_workflow, mark_unverified, read_traces
from tests.support.people import Person, recorded
from tests.support.rotation import SEED

if TYPE_CHECKING:
    from playwright.async_api import Browser

    from agent.session import Session

WEBSITE = "small"


@dataclass(frozen=True)
class Asked:
    """One request."""

    method: str
    path: str
    query: Mapping[str, str]
    form: Mapping[str, str]


@dataclass(frozen=True)
class Answered:
    """HTML, or a redirect to `location`."""

    html: str = ""
    status: int = 200
    location: str | None = None


@dataclass
class RunningSite:
    """The address, and every request that was no GET."""

    base: str = ""
    writes: list[Asked] = field(default_factory=list)


@contextmanager
def running_site(answer: Callable[[Asked], Answered]) -> Iterator[RunningSite]:
    """Serve what `answer` makes of each request."""
    site = RunningSite()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_args: object) -> None:
            """Nothing."""

        def _answer(self) -> None:
            parts = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            form = dict(parse_qsl(body, keep_blank_values=True))
            asked = Asked(self.command, parts.path, dict(parse_qsl(parts.query)), form)
            if self.command != "GET":
                site.writes.append(asked)
            made = answer(asked) if parts.path != "/favicon.ico" else Answered(status=404)
            told = made.html.encode()
            self.send_response(303 if made.location else made.status)
            if made.location:
                self.send_header("Location", made.location)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(told)))
            self.end_headers()
            self.wfile.write(told)

        do_GET = do_POST = _answer  # noqa: N815 - the names that http.server calls

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    site.base = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


async def induced(
    browser: Browser, site: RunningSite, folder: Path, person: Person, given: Sequence[Mapping[str, str]], *,
    start: str = "/", sentences: Sequence[str] = (), prepare: Callable[[int], None] = lambda _: None,
) -> PipelineResult:  # fmt: skip
    """What synthesis makes of one recording for each of `given`; `sentences` describe them."""
    dice = random.Random(SEED)
    for number, each in enumerate(given):
        prepare(number)
        await recorded(
            browser, site.base, folder / f"{number:02}", person, each, dice, asked=True, start=start
        )
    traces = read_traces([folder])
    if sentences:
        traces = [
            trace.model_copy(update={"task_description": said})
            for trace, said in zip(traces, sentences, strict=True)
        ]
    return add_workflow_documents(await induce_workflow(traces, person.__name__, ""))


@asynccontextmanager
async def opened_stores(site: RunningSite, folder: Path, *known: Document) -> AsyncIterator[Stores]:
    """Stores that know only the address of a site, and `known`."""
    website = Website(type="website", website_id=WEBSITE, name="Small", base_url=site.base)
    knowledge, _ = assemble([SourcedDocument(each) for each in (website, *known)])
    async with open_stores(folder) as stores:
        await load_knowledge(stores.documents, stores.graph, knowledge)
        yield stores


@asynccontextmanager
async def visiting(
    browser: Browser, site: RunningSite, folder: Path, *known: Document
) -> AsyncIterator[Session]:
    """A session on a site of which only the address is known, and `known`."""
    async with (
        opened_stores(site, folder, *known) as stores,
        open_fresh_context(browser) as context,
        open_session(stores, context, WEBSITE, base_url=site.base) as session,
    ):
        yield session


async def ran_published(
    browser: Browser, stores: Stores, site: RunningSite, workflow_id: str, inputs: Mapping[str, Any]
) -> RunResult:
    """The result of running a published workflow in a new session."""
    async with (
        open_fresh_context(browser) as context,
        open_session(stores, context, WEBSITE, base_url=site.base) as session,
    ):
        return await run_workflow(TaskRunner(session), await session.knowledge.workflow(workflow_id), inputs)


async def ran(session: Session, result: PipelineResult, inputs: Mapping[str, Any]) -> RunResult:
    """The result of running the workflow of a synthesis."""
    assert result.lowered is not None
    lowered = mark_unverified(result.lowered)
    for task in lowered.tasks:
        session.knowledge.know(task)
    return await run_workflow(TaskRunner(session), lowered.workflow, inputs)
