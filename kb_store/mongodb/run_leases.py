"""The leases of runs in MongoDB. Like loaders' leases, they run by the server's clock."""

from __future__ import annotations

import dataclasses
import secrets
from datetime import UTC, datetime
from typing import Any

from pymongo import ASCENDING, IndexModel, ReturnDocument
from pymongo.errors import DuplicateKeyError

from kb_store.mongodb.connection import MongoConnection, MongoDatabase
from kb_store.ports import LeaseOwner
from kb_store.runs.run_leases import FORGOTTEN_AFTER_S, RunLease, RunLeaseConflict

RUN_LEASES = "run_leases"
INDEXES = (
    IndexModel([("run_id", ASCENDING)], unique=True),
    IndexModel([("expires", ASCENDING)], expireAfterSeconds=int(FORGOTTEN_AFTER_S)),
)
_NEVER_HELD = {"token": None, "owner": None, "expires": datetime.fromtimestamp(0, UTC)}


class MongoRunLeases:
    """`RunLeases` on a `MongoConnection`."""

    def __init__(self, connection: MongoConnection) -> None:
        self._connection = connection

    async def take(
        self, run_id: str, owner: LeaseOwner, *, ttl: float, instead_of: str | None = None
    ) -> RunLease:
        """Take the lease in one statement, which matches the run's document only if the lease is available."""
        free: list[dict[str, Any]] = [{"$expr": {"$lt": ["$expires", "$$NOW"]}}]
        if instead_of is not None:
            free.append({"token": instead_of})
        token = secrets.token_hex(16)
        taken = {
            "token": {"$literal": token},
            "owner": {"$literal": dataclasses.asdict(owner)},
            "expires": _in(ttl),
        }
        while True:
            async with self._connection.asking() as database:
                leases = database[RUN_LEASES]
                try:
                    await leases.update_one({"run_id": run_id}, {"$setOnInsert": _NEVER_HELD}, upsert=True)
                except DuplicateKeyError:
                    continue  # another process inserted it first: now it can be taken
                found = await leases.find_one_and_update(
                    {"run_id": run_id, "$or": free}, [{"$set": taken}], return_document=ReturnDocument.AFTER
                )
                if found is not None:
                    return RunLease(run_id, token, owner, ttl)
                held = await _held(database, run_id)
            if held is not None:  # otherwise it was released just now
                raise RunLeaseConflict(run_id, str(held.owner), free_in=held.expires_in)

    async def holder(self, run_id: str) -> RunLease | None:
        """Return the lease; an expired one has no holder."""
        async with self._connection.asking() as database:
            return await _held(database, run_id)

    async def renew(self, lease: RunLease, *, ttl: float) -> None:
        """Run one statement."""
        async with self._connection.asking() as database:
            renewed = await database[RUN_LEASES].update_one(_mine(lease), [{"$set": {"expires": _in(ttl)}}])
            if renewed.matched_count == 1:
                return
            held = await _held(database, lease.run_id)
        holder = "another process, which took over" if held is None else str(held.owner)
        raise RunLeaseConflict(lease.run_id, holder, free_in=0 if held is None else held.expires_in)

    async def release(self, lease: RunLease) -> None:
        """Delete only the own one."""
        async with self._connection.asking() as database:
            await database[RUN_LEASES].delete_one(_mine(lease))


async def _held(database: MongoDatabase, run_id: str) -> RunLease | None:
    pipeline: list[dict[str, Any]] = [
        {"$match": {"run_id": run_id, "token": {"$ne": None}}},
        {"$set": {"left": {"$subtract": ["$expires", "$$NOW"]}}},
        {"$match": {"left": {"$gte": 0}}},
    ]
    async for found in await database[RUN_LEASES].aggregate(pipeline):
        return RunLease(run_id, found["token"], LeaseOwner(**found["owner"]), found["left"] / 1000)
    return None


def _mine(lease: RunLease) -> dict[str, Any]:
    return {"run_id": lease.run_id, "token": lease.token}


def _in(seconds: float) -> dict[str, Any]:
    """Return the server's time plus `seconds`."""
    return {"$add": ["$$NOW", int(seconds * 1000)]}
