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

_COMMITS: list[dict[str, Any]] = [
    {
        "$match": {
            "$or": [
                {"operationType": {"$in": ["replace", "delete"]}},
                {"updateDescription.updatedFields.active_generation": {"$exists": True}},
            ]
        }
    }
]
"""Leases are taken and renewed in the same documents: those updates are nobody's business."""


async def changes(connection: Connection) -> AsyncIterator[str]:
    """Ids of websites whose active generation changed; first all there are."""
    token: Mapping[str, Any] | None = None
    while True:
        try:
            async for website_id, seen in _stream(connection, token):
                token = seen
                yield website_id
        except StoreError as exc:
            if isinstance(exc.__cause__, OperationFailure):
                token = None  # the server no longer knows that far back: begin anew
        await asyncio.sleep(RETRY_SECONDS)


async def _stream(
    connection: Connection, token: Mapping[str, Any] | None
) -> AsyncIterator[tuple[str, Mapping[str, Any] | None]]:
    with connection.mapped():
        collection = connection.database[GENERATIONS]
        async with await collection.watch(_COMMITS, resume_after=token) as stream:
            if token is None:
                async for website in collection.find({"active_generation": {"$ne": None}}, ["_id"]):
                    yield website["_id"], stream.resume_token
            async for change in stream:
                yield change["documentKey"]["_id"], stream.resume_token
