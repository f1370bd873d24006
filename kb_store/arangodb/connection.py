"""A connection to one ArangoDB through python-arango: off the event loop, with its errors mapped to ours.

The driver's own retries are off, because they would repeat a write after a lost answer. Only a write that
lost a write-write conflict (1200), and so changed nothing, is sent again.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar, cast

from arango.client import ArangoClient
from arango.database import StandardDatabase, TransactionDatabase
from arango.exceptions import ArangoError, ArangoServerError
from arango.http import DefaultHTTPClient
from requests import Session
from requests.exceptions import Timeout

from kb_store.arangodb.server_address import FORM, ArangoAddress
from kb_store.errors import StoreCorrupt, StoreError, StoreUnavailable

if TYPE_CHECKING:
    from arango.cursor import Cursor

REQUEST_SECONDS = 10
"""The timeout of one request, in seconds."""
POOL = 10
"""The number of connections kept open."""
CONFLICT = 1200
"""`ERROR_ARANGO_CONFLICT`: another writer was faster; nothing was changed."""
MOST_TRIES = 60
"""How often a conflicting write is sent before it fails."""
LONGEST_PAUSE = 0.05
"""The longest random pause in seconds before a conflicting write is sent again."""

NO_SUCH_COLLECTION, NO_SUCH_DATABASE, NO_SUCH_GRAPH = 1203, 1228, 1924
REFUSED_BY_SCHEMA = 1620
NO_SUCH_TRANSACTION = 1655
READ_ONLY = 1004

_NOT_SET_UP = ("it is not set up", "run `periplus kb init`")
_NOT_ALLOWED = ("the user may not do that there", "give the user read and write access")
_WHY = {
    401: ("it refused the user or password", f"mend PERIPLUS_ARANGODB_URL: {FORM}"),
    403: _NOT_ALLOWED,
    READ_ONLY: _NOT_ALLOWED,
    CONFLICT: ("other writers were faster every time", "try again"),
    NO_SUCH_COLLECTION: _NOT_SET_UP,
    NO_SUCH_DATABASE: _NOT_SET_UP,
    NO_SUCH_GRAPH: _NOT_SET_UP,
    NO_SUCH_TRANSACTION: ("a transaction ran out of time", "try again"),
}
"""Error number or HTTP status -> what happened, and what to do."""

T = TypeVar("T")


class ArangoConnection:
    """A database of an ArangoDB, opened at its first use."""

    def __init__(self, address: ArangoAddress) -> None:
        self.where = address
        self._client: ArangoClient | None = None

    @property
    def address(self) -> str:
        """The host and the database, for messages."""
        return str(self.where)

    async def run(self, work: Callable[[StandardDatabase], T]) -> T:
        """Run `work` once, in a worker thread."""
        return await asyncio.to_thread(self._run, work)

    async def write(self, work: Callable[[StandardDatabase], T]) -> T:
        """Run `work`, which changes everything or nothing, again while it conflicts."""
        return await asyncio.to_thread(self._run, lambda db: self._retried(lambda: work(db)))

    async def transact(
        self, write: list[str], read: list[str], work: Callable[[TransactionDatabase], T]
    ) -> T:
        """Run `work` as one stream transaction over these collections, again while it conflicts."""
        return await self.write(lambda db: _transaction(db, write, read, work))

    async def query(self, text: str, **values: Any) -> list[Any]:
        """Return all rows of a read-only AQL text of `aql.py`. `c_NAME` binds `@@NAME`."""
        return await self.run(lambda db: query(db, text, **values))

    async def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            await asyncio.to_thread(client.close)

    def system(self) -> StandardDatabase:
        """`_system`, the database in which databases are created."""
        return self._database("_system")

    @contextmanager
    def mapped_errors(self) -> Iterator[None]:
        """Map the driver's errors to ours."""
        try:
            yield
        except StoreError:
            raise
        except ArangoServerError as exc:
            raise _of_server(self.address, exc) from exc
        except Timeout as exc:
            raise self._silent(f"it did not answer within {REQUEST_SECONDS} s") from exc
        except OSError as exc:  # every error of the transport
            raise self._silent("the connection failed or was lost") from exc
        except ArangoError as exc:
            raise StoreUnavailable(self.address, str(exc), fix="try again") from exc
        except (
            KeyError,
            TypeError,
            AttributeError,
        ) as exc:  # the driver could not parse the answer, which is not ArangoDB's
            raise StoreUnavailable(
                self.address, "the server there is not ArangoDB", fix=f"set PERIPLUS_ARANGODB_URL to {FORM}"
            ) from exc

    def _silent(self, reason: str) -> StoreUnavailable:
        return StoreUnavailable(
            self.address, reason, fix="start ArangoDB there or correct PERIPLUS_ARANGODB_URL, then try again"
        )

    def _run(self, work: Callable[[StandardDatabase], T]) -> T:
        with self.mapped_errors():
            return work(self._database(self.where.database))

    def _retried(self, work: Callable[[], T]) -> T:
        for _ in range(MOST_TRIES - 1):
            try:
                return work()
            except ArangoServerError as exc:
                if exc.error_code != CONFLICT:
                    raise
            time.sleep(random.uniform(0, LONGEST_PAUSE))  # noqa: S311 - there is nothing to wait on; not a secret
        return work()

    def _database(self, name: str) -> StandardDatabase:
        user, password = self.where.user, self.where.password
        return self._opened().db(name, username=_utf8(user), password=_utf8(password))

    def _opened(self) -> ArangoClient:
        if self._client is None:
            http = _ArangoHttpClient(
                request_timeout=REQUEST_SECONDS, retry_attempts=0, pool_connections=POOL, pool_maxsize=POOL
            )
            self._client = ArangoClient(
                hosts=self.where.host,
                resolver_max_tries=1,
                http_client=http,
                request_timeout=REQUEST_SECONDS,
            )
        return self._client


class _ArangoHttpClient(DefaultHTTPClient):
    """An HTTP client that reads proxies and certificates from the environment once.

    Reading them before every request takes a third of the time.
    """

    def create_session(self, host: str) -> Session:
        """Return the driver's session for requests to `host`."""
        session: Session = super().create_session(host)
        found = session.merge_environment_settings(host, {}, None, None, None)
        session.proxies, session.verify = found["proxies"], found["verify"]
        session.trust_env = False
        return session


def query(db: StandardDatabase | TransactionDatabase, text: str, **values: Any) -> list[Any]:
    """Return all rows of an AQL text. `c_NAME` binds `@@NAME`, every other name `@NAME`.

    A warning (a division by zero, say) is an error: it would mean a null in an answer.
    """
    # The driver's types include its job queues, which return jobs; these databases do not.
    return list(cast("Cursor", db.aql.execute(text, bind_vars=_bound(values), fail_on_warning=True)))


def _utf8(text: str) -> str:
    """Return text that becomes its UTF-8 bytes when `requests` encodes credentials as Latin-1."""
    return text.encode().decode("latin-1")


def _bound(values: Mapping[str, Any]) -> dict[str, Any]:
    return {f"@{name[2:]}" if name.startswith("c_") else name: value for name, value in values.items()}


def _transaction(
    db: StandardDatabase, write: list[str], read: list[str], work: Callable[[TransactionDatabase], T]
) -> T:
    """Abort a stream transaction, because a failed operation does not end it."""
    transaction = db.begin_transaction(read=read, write=write, allow_implicit=False)
    try:
        result = work(transaction)
        transaction.commit_transaction()
    except BaseException:
        with contextlib.suppress(ArangoError, OSError):  # it also ends by itself, after a minute
            transaction.abort_transaction()
        raise
    return result


def _of_server(address: str, exc: ArangoServerError) -> StoreError:
    code, status = exc.error_code, exc.http_code
    detail = exc.error_message or f"HTTP {status}"
    if code == REFUSED_BY_SCHEMA:
        return StoreCorrupt(address, f"it refused a document: {detail}")
    known = _WHY.get(code or 0) or _WHY.get(status)
    if known is not None:
        return StoreUnavailable(address, known[0], fix=known[1])
    if status >= 500 or status == 429:
        return StoreUnavailable(address, f"it answered: {detail}", fix="try again")
    return StoreCorrupt(address, f"it refused a request: {detail} (error {code})")
