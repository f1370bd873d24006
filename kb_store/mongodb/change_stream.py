"""The change stream over active generations, resumed after any interruption."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

from pymongo.errors import OperationFailure

from kb_store.errors import StoreError
from kb_store.mongodb.connection import MongoConnection
from kb_store.mongodb.database_schema import GENERATIONS

RETRY_SECONDS = 0.5
"""The pause in seconds before the stream is reopened."""

_MAYBE_COMMITS: list[dict[str, Any]] = [
    {
        "$match": {
            "$or": [
                {"operationType": {"$in": ["replace", "delete"]}},
                {"updateDescription.updatedFields.active_generation": {"$exists": True}},
            ]
        }
    }
]
"""Leases are renewed in the same documents: these updates are filtered out by the server."""

Token = Mapping[str, Any] | None


async def changes(connection: MongoConnection) -> AsyncIterator[str]:
    """Yield the ids of websites whose active generation changed; first all existing ones."""
    token: Token = None
    seen: dict[str, int | None] = {}
    while True:
        try:
            async for website_id, generation, seen_up_to in _stream(connection, token):
                token = seen_up_to
                if seen.get(website_id) != generation:
                    seen[website_id] = generation
                    yield website_id
        except StoreError as exc:
            task = asyncio.current_task()
            if task is not None and task.cancelling():  # raised by the driver while it looks for a server
                raise asyncio.CancelledError from exc
            if isinstance(exc.__cause__, OperationFailure):
                token = None  # the server no longer has that position: report all websites
        await asyncio.sleep(RETRY_SECONDS)


async def _stream(connection: MongoConnection, token: Token) -> AsyncIterator[tuple[str, int | None, Token]]:
    """Yield the website, its active generation, and the resume token."""
    with connection.mapped():
        collection = connection.database[GENERATIONS]
        async with await collection.watch(
            _MAYBE_COMMITS, full_document="updateLookup", resume_after=token
        ) as stream:
            if token is None:
                async for website in collection.find({}, ["active_generation"]):
                    yield website["_id"], website.get("active_generation"), stream.resume_token
            async for change in stream:
                website = change.get("fullDocument") or {}
                yield change["documentKey"]["_id"], website.get("active_generation"), stream.resume_token
