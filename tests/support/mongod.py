"""A real MongoDB for the tests: one node of a replica set, on a free port, in a folder of its own.

`PERIPLUS_MONGODB_URL` names another one to use instead. The server dies with the test run however
that ends: the kernel kills it when its parent is gone.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pymongo
import pytest
from pymongo.errors import OperationFailure, PyMongoError
from pymongo.write_concern import WriteConcern

from tests.support.needs import lacking

MONGOD = Path(__file__).parents[2] / ".tools/mongod/fiftyone/db/bin/mongod"
MISSING = "no MongoDB to test with: `make setup-mongod` installs one, PERIPLUS_MONGODB_URL names one"
GIVEN = os.environ.pop("PERIPLUS_MONGODB_URL", None)
"""Taken out of the environment, so that tests of the embedded store and of settings do not see it."""

START_SECONDS = 60.0
MEMORY = Path("/dev/shm")
ROOM = 512 * 1024 * 1024
"""Bytes that must be free there, or the folder is on disk."""

_SMALL_JOURNAL = "log=(prealloc=false,file_max=16MB)"
"""Without it each server begins by writing 300 MB."""

_PR_SET_PDEATHSIG = 1
_NOT_YET_INITIATED = 94


class Mongod:
    """A mongod process that can be stopped and started again on the same port and data."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = _free_port()
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Of the server, without a database."""
        return f"mongodb://127.0.0.1:{self.port}/?replicaSet=rs0"

    def start(self) -> None:
        """Start and wait until it accepts writes."""
        (self.folder / "db").mkdir(parents=True, exist_ok=True)
        self.process = subprocess.Popen(
            [MONGOD, "--replSet", "rs0", "--port", str(self.port), "--bind_ip", "127.0.0.1",
             "--nounixsocket", "--dbpath", self.folder / "db", "--logpath", self.folder / "log",
             "--wiredTigerCacheSizeGB", "0.25", "--wiredTigerEngineConfigString", _SMALL_JOURNAL,
             "--oplogSize", "128", "--setParameter", "diagnosticDataCollectionEnabled=false",
             "--setParameter", "transactionLifetimeLimitSeconds=3"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=_die_with(os.getpid()),  # noqa: PLW1509 - no other thread yet
        )  # fmt: skip
        until = time.monotonic() + START_SECONDS
        direct = f"mongodb://127.0.0.1:{self.port}/?directConnection=true"
        client: pymongo.MongoClient[dict[str, Any]] = pymongo.MongoClient(
            direct, serverSelectionTimeoutMS=1000
        )
        with client:
            while not self._is_primary(client):
                if self.process.poll() is not None or time.monotonic() > until:
                    log = (self.folder / "log").read_text(errors="replace")[-2000:]
                    raise RuntimeError(f"mongod did not start: {log}")
                time.sleep(0.05)  # nothing to wait on but the server itself

    def stop(self) -> None:
        """Kill it, as a crash would."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def _is_primary(self, client: pymongo.MongoClient[dict[str, Any]]) -> bool:
        try:
            hello = client.admin.command("hello")
            if hello.get("isreplicaset"):
                members = [{"_id": 0, "host": f"127.0.0.1:{self.port}"}]
                client.admin.command("replSetInitiate", {"_id": "rs0", "members": members})
            return bool(hello.get("isWritablePrimary"))
        except OperationFailure as exc:
            if exc.code == _NOT_YET_INITIATED:
                return False
            raise
        except PyMongoError:
            return False


def _die_with(parent: int) -> Callable[[], None]:
    """Run in the child: the kernel kills it when its parent's thread ends, even by SIGKILL (prctl(2))."""
    libc = ctypes.CDLL(None)

    def before_exec() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before we asked
            os._exit(1)

    return before_exec


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _new_folder() -> Path:
    """Of a server's own. What it wrote survives its death there too, if not the machine's."""
    roomy = os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free >= ROOM
    return Path(tempfile.mkdtemp(prefix="periplus-mongod-", dir=MEMORY if roomy else None))


def need_mongod() -> None:
    """Skip, or in CI fail, where there is no mongod to start."""
    if not os.access(MONGOD, os.X_OK) or subprocess.call([MONGOD, "--version"], stdout=subprocess.DEVNULL):
        lacking(MISSING)


@pytest.fixture(scope="session")
def _stoppable() -> Iterator[Mongod]:
    """One for all tests of a worker that stop theirs, whose shared one must go on."""
    need_mongod()
    folder = _new_folder()
    mongod = Mongod(folder)
    try:
        yield mongod
    finally:
        mongod.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def own_mongod(_stoppable: Mongod) -> Mongod:
    """A mongod of the test's own for as long as it takes, running and empty, to stop and start."""
    if _stoppable.process is None:
        _stoppable.start()
    client: pymongo.MongoClient[dict[str, Any]] = pymongo.MongoClient(_stoppable.url)
    with client:
        for name in set(client.list_database_names()) - {"admin", "config", "local"}:
            client.drop_database(name)
    return _stoppable


@pytest.fixture(scope="session")
def mongodb_server() -> Iterator[str]:
    """The URL of a MongoDB for the whole run, without a database."""
    if GIVEN:
        yield GIVEN
        return
    need_mongod()
    folder = _new_folder()
    mongod = Mongod(folder)
    try:
        mongod.start()
        yield mongod.url
    finally:
        mongod.stop()
        shutil.rmtree(folder, ignore_errors=True)


def with_database(url: str, name: str) -> str:
    """The same server, another database."""
    head, mark, options = url.partition("?")
    scheme, _, rest = head.partition("://")
    return f"{scheme}://{rest.split('/', 1)[0]}/{name}{mark}{options}"


@pytest.fixture(scope="session")
def _reused(mongodb_server: str) -> Iterator[pymongo.MongoClient[dict[str, Any]]]:
    client: pymongo.MongoClient[dict[str, Any]]
    with pymongo.MongoClient(with_database(mongodb_server, f"test_{uuid.uuid4().hex[:12]}")) as client:
        yield client
        client.drop_database(client.get_default_database().name)


@pytest.fixture
def emptied_mongodb_url(mongodb_server: str, _reused: pymongo.MongoClient[dict[str, Any]]) -> str:
    """The URL of a database without documents, whose collections and indexes earlier tests may have made.

    Making those takes longer than most tests do: `mongodb_url` is for tests of the making.
    """
    database = _reused.get_default_database()
    *names, last = database.list_collection_names() or [""]
    for name in names:  # one connection, in order: only the last answer is waited for
        database.get_collection(name, write_concern=WriteConcern(w=0)).delete_many({})
    if last:
        database[last].delete_many({})
    return with_database(mongodb_server, database.name)


@pytest.fixture
def mongodb_url(mongodb_server: str) -> Iterator[str]:
    """The URL of a new database of the test's own."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    yield with_database(mongodb_server, name)
    client: pymongo.MongoClient[dict[str, Any]] = pymongo.MongoClient(mongodb_server)
    with client:
        client.drop_database(name)
