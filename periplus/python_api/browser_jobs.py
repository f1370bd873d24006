"""Whole jobs of the commands as functions: map a website, record, synthesize a workflow, verify, give a demo."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.async_api import Browser, Page
from playwright.async_api import Error as PlaywrightError
from rich.console import Console

from agent.recording.demonstration_recorder import AlreadyRecorded, DemonstrationRecorder
from agent.recording.recorded_actions import RecordedAction
from agent.run_context import RunContext
from agent.synthesis.synthesis_pipeline import PipelineResult
from kb_schema import KnowledgeBase
from kb_schema.explorations import MapLimits
from kb_schema.url_patterns import is_web_address
from kb_schema.workflows import Workflow
from periplus.errors import UserError
from periplus.exploration.map_folder import MAPS, MapFolder
from periplus.exploration.map_run import MapRunPlan, SignInFunction
from periplus.exploration.map_run import map_website as run_map
from periplus.exploration.map_view import MapView
from periplus.exploration.sign_in_methods import ExplorationSignIn, sign_in_by_storage_state
from periplus.extras import check_extra
from periplus.output_folder import prepare_output_folder
from periplus.python_api.open_sites import Store
from periplus.recorded_websites import select_recorded_website
from periplus.session_setup import start_browser
from periplus.settings import load_settings
from periplus.synthesis.proposed_screens import find_screens
from periplus.synthesis.shown_sentences import build_documents
from periplus.synthesis.workflow_synthesis import (
    SynthesisJudgement,
    SynthesisSite,
    induce_workflow,
    list_origins,
    publish_workflow,
    read_traces,
)
from periplus.website_selection import suggest_website_id

if TYPE_CHECKING:
    from kb_schema.verification import VerdictReport
    from periplus.demos.filmed_demo import DemoResult


async def map_website(
    url: str,
    *,
    website: str | None = None,
    out: str | Path | None = None,
    browser: Browser | None = None,
    storage_state: str | Path | None = None,
    allowed: Collection[str] = (),
    limits: MapLimits | None = None,
) -> KnowledgeBase:
    """Explore a website and return its knowledge base, which is also written to `out`/kb.

    Nothing is submitted, deleted, paid or sent, except by controls that `allowed` names. `website`: the id; None: made of
    the address. `out`: a folder; None: `maps/ID` in the data directory. `browser`: a Playwright browser of your own; None: a
    headless Chromium. `storage_state`: a file of Playwright with a signed-in session. `limits`: pages, depth and seconds.
    Raises `UserError` for an address that cannot be opened, and `KnowledgeError` for an unreadable folder.
    """
    if not is_web_address(url):
        raise UserError(f"{url} is not a web address", fix="write it like https://app.example.com")
    website_id = website or suggest_website_id(url)
    folder = MapFolder(Path(out) if out else load_settings().data_dir / MAPS / website_id)
    plan = MapRunPlan(website_id, url, folder, limits or MapLimits(), allowed=tuple(allowed))
    sign_in = None if storage_state is None else _signed_in_by(Path(storage_state))
    view = MapView(_silent(), f"map of {website_id}")
    if browser is not None:
        return (await run_map(browser, plan, sign_in, view))[0].knowledge
    async with start_browser(headed=False) as started:
        return (await run_map(started, plan, sign_in, view))[0].knowledge


@dataclass
class Recording:
    """A demonstration that is being recorded; after the block, `actions` has what was done."""

    folder: Path
    actions: list[RecordedAction] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """What could not be recorded, in words."""


@asynccontextmanager
async def record(
    page: Page, folder: str | Path, *, name: str = "recording", secrets: Collection[str] = ()
) -> AsyncIterator[Recording]:
    """Record what is done in a Playwright page, and in others of its context, as a trace for `synthesize`.

    Open the first address inside the block: documents that were loaded before are not recorded. `folder`: a new folder.
    `name`: what is done, in words. `secrets`: names or labels of fields that hold secrets, besides those that are
    recognised. Raises `UserError` if the folder is not empty, and for a context that is or was recorded.
    """
    made = Recording(prepare_output_folder(Path(folder)))
    if any(made.folder.iterdir()):
        raise UserError(f"{made.folder} is not empty", fix="name another folder")
    recorder = DemonstrationRecorder(
        page.context,
        made.folder,
        context=RunContext(),
        name=name,
        secrets=secrets,
        on_action=made.actions.append,
        on_problem=made.problems.append,
    )
    try:
        await recorder.start()
    except (PlaywrightError, AlreadyRecorded) as exc:
        reason = str(exc).splitlines()[0]
        raise UserError(
            f"the page cannot be recorded: {reason}", fix="use a new browser context for each recording"
        ) from exc
    complete = False
    try:
        yield made
        complete = True
    finally:
        await recorder.finish(complete=complete)


@dataclass(frozen=True)
class SynthesizedWorkflow:
    """A workflow that was made of recordings."""

    workflow: Workflow
    published: bool
    result: PipelineResult = field(repr=False)
    """The graph, the documents, and why each step is as it is."""


async def synthesize(
    traces: Sequence[str | Path],
    name: str,
    *,
    store: Store | None = None,
    website: str | None = None,
    unverified: bool = False,
    replace: bool = False,
    accept: Collection[str] = (),
) -> SynthesizedWorkflow:
    """Build a workflow from recordings of one task, and publish it in `store` if one is given.

    `traces`: folders of recordings. `website`: the id; None: the one at the recorded address. `unverified`: publish it also
    if nothing in the recordings shows that the task worked. `replace`: replace a workflow of this id. `accept`: the folders or
    ids of recordings that are meant to show a refusal of the application; others that show one are left out. Raises `UserError`
    if no workflow can be made of them, or none that may be published.
    """
    read = await asyncio.to_thread(read_traces, [Path(each) for each in traces])
    judgement = SynthesisJudgement(accepted_traces=frozenset(accept))
    result = await induce_workflow(read, name, name, judgement)
    if result.graph is None:
        raise UserError(result.error or "no workflow could be made of the traces", fix="look at the traces")
    if store is None:
        return _built(build_documents(result), published=False)
    website_id, _ = await select_recorded_website(store.stores, website, list_origins(read))
    site = SynthesisSite(store.stores, website_id, None, allow_unverified=unverified)
    found = await find_screens(store.stores, website_id, None, result)
    built = _built(build_documents(result, found.by_step), published=True)
    if not (built.workflow.success_criteria or unverified):
        raise UserError(
            "nothing in the recordings tells whether the task worked, so every run would look like a success",
            fix="record the task until the application shows its result, or publish it with unverified=True",
        )
    if built.result.lowered is not None:
        await publish_workflow(site, built.result.lowered, found.new, replace=replace, traces=read)
    return built


async def verify(
    files: Sequence[str | Path],
    *,
    base_url: str | None = None,
    out: str | Path | None = None,
    values: Mapping[str, str] | None = None,
    workers: int = 2,
    headed: bool = False,
) -> list[VerdictReport]:
    """Verify requirements on a live site, and write reports and pytest-playwright tests to `out`.

    `files`: workbooks, tables or texts (docs/requirements.md). `base_url`: where the site runs. `values`: secrets and other
    inputs. `workers`: browser contexts at once. Needs the extra `verify`. Raises `ExtraMissing`, `RequirementsInvalid` with
    every problem and its place, and `UserError`.
    """
    check_extra("verify()", "verify")
    from periplus.verification import verification_run as running  # noqa: PLC0415 - an optional extra
    from periplus.verification.verification_batch import VerificationBatch, keep_batch  # noqa: PLC0415

    folder = _choose_folder(out, "verify")
    batch = VerificationBatch(
        files=tuple(str(_absolute(each)) for each in files),
        out=str(_absolute(folder)),
        base_url=base_url,
        workers=str(workers),
        headed=headed,
    )
    wanted = await running.read_batch_requirements(batch)
    await asyncio.to_thread(running.check_runnable, batch, wanted, {})
    prepare_output_folder(folder)
    keep_batch(batch, load_settings().data_dir)
    return (await running.VerificationRun(batch, wanted, _silent(), dict(values or {})).done()).reports


async def demo(
    name: str = "spadeworks",
    *,
    flow: str | None = None,
    out: str | Path | None = None,
    speed: float = 1.0,
    base_url: str | None = None,
    headed: bool | None = None,
    gif: bool = False,
) -> DemoResult:
    """Give a narrated demo of a built-in seed, or of a folder with a `seed.yaml`, and film it to `out`.

    `speed`: 2 is twice as fast; 0 is as fast as possible, without speech. `base_url`: a site that runs already. `gif`: also
    make an animated picture. Raises `UserError` for an unknown demo or flow, and if no browser starts.
    """
    from periplus.demos.filmed_demo import DemoSettings, run_demo  # noqa: PLC0415 - slow imports
    from periplus.seed_sites.seed_manifests import find_seed  # noqa: PLC0415

    seed = find_seed(name)
    folder = _choose_folder(out, seed.name)
    settings = DemoSettings(flow, speed, headed, base_url=base_url, gif=gif)
    return await run_demo(
        seed,
        settings,
        data_dir=load_settings().data_dir,
        out=prepare_output_folder(folder),
        console=_silent(),
    )


def _built(result: PipelineResult, *, published: bool) -> SynthesizedWorkflow:
    if result.lowered is None:
        raise UserError(result.error or "no workflow could be made of the traces", fix="look at the traces")
    return SynthesizedWorkflow(result.lowered.workflow, published, result)


def _signed_in_by(file: Path) -> SignInFunction:
    signed = sign_in_by_storage_state(file)

    async def sign_in(_browser: Browser) -> ExplorationSignIn:
        return signed

    return sign_in


def _choose_folder(out: str | Path | None, name: str) -> Path:
    return Path(out) if out else Path("out") / f"{name}-{datetime.now().astimezone():%Y%m%d-%H%M%S}"


def _absolute(path: str | Path) -> Path:
    return Path(path).absolute()


def _silent() -> Console:
    return Console(file=io.StringIO())
