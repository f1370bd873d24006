"""What a verification remembers: checkpoints of runs that may be carried on, and plans that passed."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from pydantic import ValidationError

from agent.verifying.flow.state import same_test, sealed_plan, unsealed_plan
from kb_schema.storage import CHECKPOINT_TTL_S
from kb_schema.verification import Plan, Requirement
from kb_store.errors import StoreUnavailable

CHECKPOINTS = "verifications.sqlite3"
PLANS = "plans"
DATABASE = "periplus"
"""Of MongoDB, where the URL names none."""
_COLLECTIONS = ("verification_checkpoints", "verification_writes")


@asynccontextmanager
async def open_checkpointer(
    data_dir: Path, mongodb_url: str | None = None
) -> AsyncIterator[BaseCheckpointSaver[Any]]:
    """LangGraph's own savers: a file in the data directory, or MongoDB. Raises `StoreUnavailable`."""
    if mongodb_url is None:
        await asyncio.to_thread(data_dir.mkdir, parents=True, exist_ok=True)
        async with AsyncSqliteSaver.from_conn_string(str(data_dir / CHECKPOINTS)) as saver:
            yield saver
        return
    saver_ = await asyncio.to_thread(_in_mongodb, mongodb_url)
    try:
        yield saver_
    finally:
        await asyncio.to_thread(saver_.close)


def _in_mongodb(url: str) -> Any:
    """Checkpoints are kept for a day (PACTS 9.2)."""
    try:
        from langgraph.checkpoint.mongodb import MongoDBSaver  # noqa: PLC0415 - an optional extra
        from pymongo import MongoClient  # noqa: PLC0415
        from pymongo.errors import ConfigurationError, PyMongoError  # noqa: PLC0415
    except ImportError as exc:
        raise StoreUnavailable(
            "mongodb://...", f"{exc.name} is not installed", fix="pip install 'periplus[mongo-arango,verify]'"
        ) from exc
    try:
        client: MongoClient[dict[str, Any]] = MongoClient(url, serverSelectionTimeoutMS=5_000)
        try:
            name = client.get_default_database().name
        except ConfigurationError:
            name = DATABASE
        checkpoints, writes = _COLLECTIONS
        return MongoDBSaver(
            client, name, checkpoint_collection_name=checkpoints, writes_collection_name=writes,
            ttl=int(CHECKPOINT_TTL_S),
        )  # fmt: skip
    except PyMongoError as exc:
        raise StoreUnavailable(
            "mongodb://...", f"it does not answer ({type(exc).__name__})",
            fix="start it, correct PERIPLUS_MONGODB_URL, or unset it to keep checkpoints in a file",
        ) from exc  # fmt: skip


class FolderPlans:
    """Plans that passed, one file for each (`agent.verifying.flow.working.Plans`), without secrets."""

    def __init__(self, data_dir: Path) -> None:
        self._folder = data_dir / PLANS

    async def known(self, website_id: str, requirement: Requirement) -> Plan | None:
        """Of this very requirement; None also where it says something else by now."""
        return await asyncio.to_thread(self._read, website_id, requirement)

    async def keep(self, website_id: str, plan: Plan) -> None:
        """It passed with this one, which is sealed."""
        await asyncio.to_thread(self._write, website_id, plan)

    def _read(self, website_id: str, requirement: Requirement) -> Plan | None:
        try:
            plan = Plan.model_validate_json(self._path(website_id, requirement.req_id).read_text("utf-8"))
        except (OSError, ValidationError):
            return None
        if not same_test(plan.requirement, requirement, plan):
            return None
        return unsealed_plan(plan, requirement, plan.base_url)

    def _write(self, website_id: str, plan: Plan) -> None:
        path = self._path(website_id, plan.requirement.req_id)
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(f".{os.getpid()}.new")
        new.write_text(sealed_plan(plan, plan.requirement).model_dump_json(), encoding="utf-8")
        new.replace(path)

    def _path(self, website_id: str, req_id: str) -> Path:
        return self._folder / re.sub(r"[^A-Za-z0-9_.-]", "_", website_id) / f"{req_id}.json"
