"""The change stream over active generations: resumed where it broke off, however long that was."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

from pymongo.errors import OperationFailure

from kb_store.errors import StoreError
from kb_store.mongodb.connection import Connection
from kb_store.mongodb.layout import GENERATIONS

RETRY_SECONDS = 0.5
"""Between two tries to open the stream again."""

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
"""Leases are renewed in the same documents: those updates need not even be sent."""

Token = Mapping[str, Any] | None


async def changes(connection: Connection) -> AsyncIterator[str]:
    """Ids of websites whose active generation changed; first all there are."""
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
            if task is not None and task.cancelling():  # the driver, looking for a server, lets it pass
                raise asyncio.CancelledError from exc
            if isinstance(exc.__cause__, OperationFailure):
                token = None  # the server no longer knows that far back: look at all there are
        await asyncio.sleep(RETRY_SECONDS)


async def _stream(connection: Connection, token: Token) -> AsyncIterator[tuple[str, int | None, Token]]:
    """Website, its active generation, and where to go on from after it."""
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
