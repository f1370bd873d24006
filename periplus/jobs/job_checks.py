"""Checks an order before it is accepted: what it names must exist, and secrets must stay on their website."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from kb_schema.documents import did_you_mean
from kb_schema.service_records import (
    DemoOrder,
    JobOrder,
    MapOrder,
    SentenceOrder,
    StoredJob,
    TaskOrder,
    TeachOrder,
    VerificationOrder,
)
from kb_schema.url_patterns import is_web_address, origin_of
from kb_schema.websites import Website
from kb_store import Stores
from kb_store.runs.service_record_store import ServiceRecordStore
from mcp_server.errors import UnknownName
from mcp_server.knowledge.view_cache import ViewCache
from periplus.errors import UserError
from periplus.language_model import choose_model
from periplus.runs.run_checks import check_run_request
from periplus.runs.sentence_jobs import check_order
from periplus.runs.task_runs import TaskRunRequest
from periplus.vault_setup import may_have_secrets

LOAD = "PERIPLUS_SERVE_MAPS"

WebsiteReader = Callable[[], Awaitable[Sequence[Website]]]


@dataclass(frozen=True, slots=True)
class OrderChecker:
    """Checks orders against the knowledge bases and the folder of files."""

    stores: Stores
    views: ViewCache
    websites: WebsiteReader
    """Returns the websites of the knowledge base, at their base URLs."""
    files: Path
    records: ServiceRecordStore
    """The jobs of which workflows are made."""
    loadable: frozenset[str] = frozenset()
    """Origins of new websites that a map may load; `*`: any."""

    async def check(self, order: JobOrder) -> None:
        """Raise `UserError` for an order that cannot be carried out, and `UnknownName` for an unknown website."""
        match order:
            case TaskOrder():
                await self.views.current(order.website_id)
                await check_run_request(
                    TaskRunRequest(order.website_id, order.task_id, values=order.values), self.stores
                )
            case SentenceOrder():
                check_order(order, (await self.views.current(order.website_id)).view.knowledge)
                if choose_model("plan") is None:
                    raise UserError(
                        "no language model is configured", fix="set PERIPLUS_MODEL (docs/models.md)"
                    )
            case TeachOrder():
                await self.views.current(order.website_id)
                await self._check_taught(order)
            case VerificationOrder():
                for name in order.files:
                    self._check_file(name)
                await self._check_base_url(order.base_url)
            case MapOrder():
                await self._check_map(order)
            case DemoOrder():
                flows = (await self.views.current(order.website_id)).view.knowledge.flows
                if order.flow_id not in flows:
                    raise UserError(
                        f"{order.website_id} has no flow {order.flow_id!r}",
                        fix=did_you_mean(order.flow_id, sorted(flows)) or "draft one: periplus draft-flow",
                    )

    async def _check_taught(self, order: TeachOrder) -> None:
        """A workflow is made of verified jobs in words of one website, each once."""
        if len(set(order.jobs)) < len(order.jobs):
            raise UserError("jobs: one is named twice", fix="name each job once; their values must differ")
        for job_id in order.jobs:
            job = await self.records.find(StoredJob, job_id)
            if job is None or not isinstance(job.order, SentenceOrder):
                raise UserError(
                    f"jobs: {job_id} is no job in words",
                    fix="name jobs of the kind `sentence` (GET /api/jobs)",
                )
            if job.order.website_id != order.website_id:
                raise UserError(
                    f"jobs: {job_id} was done on {job.order.website_id}",
                    fix=f"name jobs on {order.website_id}",
                )
            if job.outcome != "success":
                raise UserError(
                    f"jobs: {job_id} is {job.outcome or job.state}; only verified jobs (`success`) teach a workflow",
                    fix="do it again, or name another job",
                )

    def list_files(self) -> list[str]:
        """Return the names of the files that can be verified, sorted."""
        if not self.files.is_dir():
            return []
        found = (each for each in self.files.rglob("*") if each.is_file() and not each.is_symlink())
        return sorted(str(each.relative_to(self.files)) for each in found if self._is_inside(each))

    def _check_file(self, name: str) -> None:
        path = self.files / name
        if "\0" in name or not self._is_inside(path):
            raise UserError(
                f"{name!r} is not in the folder of files",
                fix=f"put it into the folder `{self.files.name}` of the service",
            )
        if not self._is_file(path):
            raise UserError(
                f"there is no file {name!r} in the folder of files",
                fix=did_you_mean(name, self.list_files())
                or f"put it into the folder `{self.files.name}` of the service",
            )

    def _is_file(self, path: Path) -> bool:
        try:
            return path.is_file()
        except OSError:  # a name that is too long for the file system
            return False

    def _is_inside(self, path: Path) -> bool:
        return path.resolve().is_relative_to(self.files.resolve())

    async def _check_base_url(self, url: str | None) -> None:
        """Requirements may type secrets at the base URL, so it must be one of a website in the knowledge base."""
        if url is None:
            return
        _check_no_credentials(url)
        known = {each for site in await self.websites() for each in _list_origins(site)}
        if not is_web_address(url) or origin_of(url) not in known:
            raise UserError(
                f"the base URL {url} is of no website in the knowledge base",
                fix=f"use one of: {', '.join(sorted(known)) or 'none yet; map or load the website first'}",
            )

    async def _check_map(self, order: MapOrder) -> None:
        known = {each.website_id: each for each in await self.websites()}
        site = known.get(order.website_id)
        if site is None and (order.update or order.sign_in_task):
            raise UnknownName("website", order.website_id, sorted(known))
        if order.update:
            if order.url:
                raise UserError("an update has no address", fix="leave out the URL: the map has its own")
        elif not is_web_address(order.url):
            raise UserError(
                f"{order.url!r} is not a web address", fix="write it like https://app.example.com"
            )
        _check_no_credentials(order.url)
        if site is not None and order.url and origin_of(order.url) not in _list_origins(site):
            # Its secrets would be typed there, by the map or by tasks of the new knowledge base.
            raise UserError(
                f"{order.url} is no address of {order.website_id}",
                fix=f"begin at {site.base_url}, or give the website another id",
            )
        if order.load and site is None and not {"*", origin_of(order.url)} & self.loadable:
            raise UserError(
                f"clients may not load a new website at {origin_of(order.url)}: its tasks would be given general secrets",
                fix=f"leave out `load` and load the map with `periplus kb load`, or allow the origin with {LOAD}",
            )
        if order.load and site is None and await asyncio.to_thread(may_have_secrets, order.website_id, known):
            raise UserError(
                f"clients may not load a new website {order.website_id}: by its id it could be given secrets of another one",
                fix="give it another id, or leave out `load` and load the map with `periplus kb load`",
            )
        if site is None or not order.sign_in_task:
            return
        knowledge = (await self.views.current(order.website_id)).view.knowledge
        if order.sign_in_task not in knowledge.tasks:
            raise UserError(
                f"{order.website_id} has no task {order.sign_in_task!r}",
                fix=did_you_mean(order.sign_in_task, sorted(knowledge.tasks)) or "leave it out",
            )


def _check_no_credentials(url: str) -> None:
    """Raise `UserError` for an address with a user name or password: it would be kept with the job. Not repeated."""
    if "@" in urlsplit(url).netloc:
        raise UserError(
            f"the address of {origin_of(url)} has a user name or password in it",
            fix="leave it out: secrets are found on the server (PERIPLUS_SECRET_NAME)",
        )


def _list_origins(site: Website) -> set[str]:
    return {origin_of(each) for each in (site.base_url, *site.allowed_origins)}
