"""One client to one MongoDB database: timeouts, transactions, and the driver's errors mapped to ours.

It knows nothing of what is stored. Every operation has a timeout, so a server that stops answering costs
seconds. Addresses in messages have no credentials.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar

import pymongo
from bson.errors import InvalidBSON
from pymongo import AsyncMongoClient
from pymongo.asynchronous.client_session import AsyncClientSession
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.asynchronous.database import AsyncDatabase
from pymongo.errors import (
    BulkWriteError,
    ConfigurationError,
    ConnectionFailure,
    ExecutionTimeout,
    InvalidName,
    InvalidURI,
    OperationFailure,
    PyMongoError,
)
from pymongo.read_concern import ReadConcern
from pymongo.write_concern import WriteConcern

from kb_store.errors import StoreCorrupt, StoreError, StoreUnavailable

DEFAULT_DATABASE = "periplus"
"""The database if the URL names none."""

SELECTION_SECONDS = 5.0
"""How many seconds to look for a server (the primary of a replica set)."""

OPERATION_SECONDS = 20.0
"""How many seconds one operation, or one transaction with its retries, may take."""

PROBE_SECONDS = 0.5
"""How many seconds to wait for a server that did not answer the last time."""

MongoDocument = dict[str, Any]
MongoDatabase = AsyncDatabase[MongoDocument]
MongoCollection = AsyncCollection[MongoDocument]
MongoSession = AsyncClientSession
T = TypeVar("T")

_READABLE = re.compile(
    r"^(?P<scheme>mongodb(?:\+srv)?)://(?:[^@/?#]*@)?(?P<hosts>[\w.\-:,\[\]%]+)(?:/(?P<database>[^/@?#]*))?(?:\?[^@]*)?$"
)

_REFUSED_CALL = re.compile(r"\[Errno \d+\] Connect call failed \([^)]*\)")
_ERRNO = re.compile(r"\[Errno -?\d+\] ")
"""Python's prefix of socket errors, whose numbers mean nothing to a reader."""

_REFUSED = 121
_MAJORITY = WriteConcern(w="majority")
_FIXES = {
    13: "grant its user the role `readWrite` on this database, and `dbAdmin` for `periplus kb init`",
    18: "correct user, password or `authSource` in PERIPLUS_MONGODB_URL",
    20: "transactions need a replica set: start mongod with --replSet (one node is enough)",
    8000: "correct user and password in PERIPLUS_MONGODB_URL",
}
"""What to do about server errors that waiting does not fix, by code."""


def parse_url(url: str) -> tuple[str, str]:
    """Return the address without credentials and options, and the name of the database.

    Parts that cannot be parsed reliably are not shown, because they may contain a password. Raises
    `StoreUnavailable`.
    """
    found = _READABLE.match(url)
    if found is None:
        raise StoreUnavailable(
            "mongodb://...",
            "the URL cannot be read",
            fix="write it like mongodb://USER:PASSWORD@HOST:27017/periplus?replicaSet=rs0, "
            "with / : @ and % in user and password percent-encoded",
        )
    database = found["database"] or DEFAULT_DATABASE
    return f"{found['scheme']}://{found['hosts']}/{database}", database


class _InvalidMongoUrl(Exception):
    """The driver does not accept the URL."""


class DocumentRefused(StoreError):
    """A document does not fit its collection's validator."""

    def __init__(self, address: str) -> None:
        super().__init__(
            f"a validator of the store at {address} refuses a document",
            fix="run `periplus kb init`: it updates the validators",
        )


async def counts_by(collection: MongoCollection, wanted: MongoDocument, field: str) -> dict[Any, int]:
    """Return how many of the wanted documents there are, by the value of a field."""
    stages: list[MongoDocument] = [
        {"$match": wanted},
        {"$group": {"_id": f"${field}", "number": {"$sum": 1}}},
    ]
    return {found["_id"]: found["number"] async for found in await collection.aggregate(stages)}


class MongoConnection:
    """A client, created at the first use and again after `close`."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.address, self._name = parse_url(url)
        self._client: AsyncMongoClient[MongoDocument] | None = None
        self._is_down = False

    def __repr__(self) -> str:
        return f"Connection({self.address!r})"

    @property
    def database(self) -> MongoDatabase:
        """The database: reads use the majority from the primary, writes go to a majority."""
        if self._client is None:
            with self.mapped():
                self._client = self._made()
        return self._client.get_database(
            self._name, read_concern=ReadConcern("majority"), write_concern=_MAJORITY
        )

    def _made(self) -> AsyncMongoClient[MongoDocument]:
        try:
            with warnings.catch_warnings():  # the driver warns of unknown options and quotes the URL
                warnings.simplefilter("error", UserWarning)
                return AsyncMongoClient(
                    self._url,
                    serverSelectionTimeoutMS=int(SELECTION_SECONDS * 1000),
                    connectTimeoutMS=int(SELECTION_SECONDS * 1000),
                    appname="periplus",
                    tz_aware=True,
                )
        except (ValueError, TypeError, UserWarning):  # raised by the driver for some ports and options
            raise _InvalidMongoUrl from None

    async def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        if self._client is not None:
            client, self._client = self._client, None
            await client.close()

    @asynccontextmanager
    async def asking(self) -> AsyncIterator[MongoDatabase]:
        """Yield the database for an operation within `OPERATION_SECONDS`. Maps the driver's errors.

        If no writable server is known, one is looked for first with a shorter timeout, so that this does not
        use up the operation's time. If none was found the last time, the timeout is shorter still, so that
        callers with a cached copy continue without a pause.
        """
        with self.mapped():
            database = self.database
            if self._is_down or not database.client.topology_description.has_writable_server():
                with pymongo.timeout(PROBE_SECONDS if self._is_down else SELECTION_SECONDS):
                    await database.command("ping")
                self._is_down = False
            with pymongo.timeout(OPERATION_SECONDS):
                yield database

    async def transaction(self, work: Callable[[MongoDatabase, MongoSession], Awaitable[T]]) -> T:
        """Run `work` as one transaction, again if it conflicts with another one.

        A commit whose answer was lost is repeated, which has no further effect in MongoDB.
        """
        async with self.asking() as database, database.client.start_session() as session:
            return await session.with_transaction(
                lambda inner: work(database, inner),
                read_concern=ReadConcern("snapshot"),
                write_concern=_MAJORITY,
            )

    @contextmanager
    def mapped(self) -> Iterator[None]:
        """Map the driver's errors inside the block to ours."""
        try:
            yield
        except (InvalidURI, ConfigurationError, InvalidName, _InvalidMongoUrl):
            # Their texts quote the URL: they are not passed on and not chained into a traceback.
            reason = "the driver refuses its URL"
            fix = (
                "correct PERIPLUS_MONGODB_URL: its host, port, database or an option; "
                "special characters in it are percent-encoded"
            )
            raise StoreUnavailable(self.address, reason, fix=fix) from None
        except ConnectionFailure as exc:
            self._is_down = True
            refusal = self._last_refusal()
            fix = "start MongoDB or correct PERIPLUS_MONGODB_URL, then try again"
            if refusal is not None:
                fix = _FIXES[refusal.code or 0]
            unavailable = StoreUnavailable(self.address, _first_sentence(refusal or exc), fix=fix)
            unavailable.retriable = refusal is None
            raise unavailable from exc
        except ExecutionTimeout as exc:
            raise StoreUnavailable(self.address, "it did not answer in time", fix="try again") from exc
        except InvalidBSON as exc:
            raise StoreCorrupt(self.address, str(exc)) from exc
        except PyMongoError as exc:
            if _is_refusal(exc):
                raise DocumentRefused(self.address) from exc
            if exc.timeout:
                self._is_down = True
                raise StoreUnavailable(self.address, "it did not answer in time", fix="try again") from exc
            code = exc.code if isinstance(exc, OperationFailure) else None
            fix = _FIXES.get(code or 0, "try again; if it persists, check MongoDB's log")
            unavailable = StoreUnavailable(self.address, _first_sentence(exc), fix=fix)
            unavailable.retriable = code not in _FIXES
            raise unavailable from exc

    def _last_refusal(self) -> OperationFailure | None:
        """Return the error of a server that refused the connection; the driver reports such a server as
        missing.
        """
        if self._client is None:
            return None
        servers = self._client.topology_description.server_descriptions().values()
        refusals = (server.error for server in servers if isinstance(server.error, OperationFailure))
        return next((refusal for refusal in refusals if refusal.code in _FIXES), None)


def _first_sentence(error: PyMongoError) -> str:
    """Return the first sentence of an error, without the driver's dump of the cluster."""
    if isinstance(error, BulkWriteError) and (errors := (error.details or {}).get("writeErrors")):
        return str(errors[0].get("errmsg", "a write failed"))
    text = str(error).split(", Timeout:")[0].split(", full error:")[0].split(" (configured timeouts")[0]
    text = text.replace("No replica set members found yet", "no member of the replica set answers")
    text = _ERRNO.sub("", _REFUSED_CALL.sub("no server answers there", text)).rstrip(".")
    return text if len(text) <= 300 else f"{text[:299]}…"


def _is_refusal(error: PyMongoError) -> bool:
    errors = (error.details or {}).get("writeErrors", []) if isinstance(error, BulkWriteError) else []
    return any(each.get("code") == _REFUSED for each in errors)
