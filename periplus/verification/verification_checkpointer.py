"""Opens LangGraph's checkpointer: it saves the state of verifications so that they can be resumed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from kb_schema.owner_folders import make_owner_file, make_owner_folder
from kb_schema.run_storage import CHECKPOINT_TTL_S
from kb_store.errors import StoreUnavailable

CHECKPOINTS = "verifications.sqlite3"
DATABASE = "periplus"
"""The MongoDB database, if the URL names none."""
_COLLECTIONS = ("verification_checkpoints", "verification_writes")


@asynccontextmanager
async def open_checkpointer(
    data_dir: Path, mongodb_url: str | None = None
) -> AsyncIterator[BaseCheckpointSaver[Any]]:
    """Open a file in the data directory, or MongoDB if a URL is given. Raises `StoreUnavailable`."""
    if mongodb_url is None:
        await asyncio.to_thread(make_owner_folder, data_dir)
        await asyncio.to_thread(make_owner_file, data_dir / CHECKPOINTS)
        async with AsyncSqliteSaver.from_conn_string(str(data_dir / CHECKPOINTS)) as saver:
            yield saver
        return
    saver_ = await asyncio.to_thread(_open_mongodb_checkpointer, mongodb_url)
    try:
        yield saver_
    finally:
        await asyncio.to_thread(saver_.close)


def _open_mongodb_checkpointer(url: str) -> Any:
    """Open MongoDB; checkpoints are deleted after a day (PACTS 9.2)."""
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
            client,
            name,
            checkpoint_collection_name=checkpoints,
            writes_collection_name=writes,
            ttl=int(CHECKPOINT_TTL_S),
        )
    except PyMongoError as exc:
        raise StoreUnavailable(
            "mongodb://...",
            f"it does not answer ({type(exc).__name__})",
            fix="start it, correct PERIPLUS_MONGODB_URL, or unset it to keep checkpoints in a file",
        ) from exc
