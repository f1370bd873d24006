"""Reads files from strangers in a child process with limits on memory and time.

A file of a few kilobytes can expand to gigabytes in any parser. Whatever the parser does, the child ends: it gets a
limit of address space, of processor time and of the size of its result. The time in which it waits for a processor does not
count, so that a busy machine refuses nothing; the time in which it waits for anything else has a limit of its own.
"""

from __future__ import annotations

import faulthandler
import os
import pickle
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from kb_schema.operating_system import limit_this_process, read_scheduled_s
from periplus.errors import UserError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

P = ParamSpec("P")
T = TypeVar("T")

MEBIBYTE = 1 << 20
STALLED_FACTOR = 15
"""A child may wait so many times its processor time for anything but a processor."""
WALL_FACTOR = 75
"""A child may take so many times its processor time in all where the system does not tell what it waits for."""
_LOOK_S = 1.0
_PROCESSOR_TIME_OVER = 24
"""SIGXCPU, which Windows does not have."""
RESULT_SHARE = 4
"""The result may have this part of the memory, since it is read by the main process, which holds it twice then."""


@dataclass(frozen=True, slots=True)
class ImportBudget:
    """What reading a file may use."""

    memory_mb: int = 640
    """Memory beyond what the program itself has."""
    seconds: int = 8
    """Processor time."""

    def left_since(self, before: float) -> ImportBudget:
        """Return what is left of it after children that ended since `child_seconds()` was `before`."""
        return replace(self, seconds=max(1, self.seconds - round(child_seconds() - before)))


DEFAULT_BUDGET = ImportBudget()


def child_seconds() -> float:
    """Return the processor time of all children that have ended."""
    used = os.times()
    return used.children_user + used.children_system


class InputTooLarge(UserError):
    """A file that expands beyond the budget."""


@dataclass(frozen=True, slots=True)
class _Raised:
    """An exception of the child, in parts: many cannot be made again from their arguments."""

    kind: type[Exception]
    args: tuple[Any, ...]
    state: dict[str, Any]
    text: str = ""
    """What it says."""

    def rebuild(self) -> Exception:
        try:
            error = self.kind.__new__(self.kind)
        except TypeError:  # it cannot be made without its arguments
            return RuntimeError(f"{self.kind.__name__}: {self.text}")
        error.args = self.args
        error.__dict__.update(self.state)
        return error


def read_foreign(
    source: Path | Sequence[Path], budget: ImportBudget, read: Callable[P, T], *args: P.args, **more: P.kwargs
) -> T:
    """Return `read(*args, **more)`, done in a child process.

    Raises what it raises, and `InputTooLarge` with the names of `source`: the files or folders that are read.
    """
    import multiprocessing  # noqa: PLC0415 - decision 0140

    context = (
        multiprocessing.get_context("fork")
        if sys.platform == "linux"
        else multiprocessing.get_context("spawn")
    )
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_read_in_child, args=(sender, budget, read, args, more), daemon=True)
    child.start()
    sender.close()
    try:
        answered = _wait_for_answer(receiver, child.pid or 0, budget)
        packed = receiver.recv_bytes() if answered else None
    except (EOFError, OSError):  # it was ended by a limit
        answered, packed = True, None
    finally:
        receiver.close()
        child.kill()
        child.join()
    if not answered:
        raise _stalled(source, budget)
    if packed is None:
        in_time = child.exitcode != -_PROCESSOR_TIME_OVER
        raise _too_large(source, budget, "its limits" if in_time else f"{budget.seconds} s of processor time")
    said: T | _Raised | InputTooLarge = pickle.loads(packed)  # noqa: S301 - from our own child
    if isinstance(said, _Raised):
        error = said.rebuild()
        raise (_too_large(source, budget, str(error)) if isinstance(error, MemoryError) else error)
    return said  # type: ignore[return-value]


def _wait_for_answer(receiver: Connection, pid: int, budget: ImportBudget) -> bool:
    """Return whether the child answered or ended, before it had waited too long for anything but a processor."""
    began = time.monotonic()
    while not receiver.poll(_LOOK_S):
        taken, scheduled = time.monotonic() - began, read_scheduled_s(pid)
        factor = WALL_FACTOR if scheduled is None else STALLED_FACTOR
        if taken - (scheduled or 0.0) > budget.seconds * factor:
            return False
    return True


def _read_in_child(
    sender: Connection,
    budget: ImportBudget,
    read: Callable[..., Any],
    args: tuple[Any, ...],
    more: dict[str, Any],
) -> None:
    faulthandler.disable()  # being ended by a limit is no crash
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the parent, which ends this process
    limit_this_process(more_bytes=budget.memory_mb * MEBIBYTE, more_seconds=budget.seconds)
    try:
        said: Any = read(*args, **more)
        packed = pickle.dumps(said)
        most = budget.memory_mb // RESULT_SHARE
        if len(packed) > most * MEBIBYTE:
            packed = pickle.dumps(_Raised(MemoryError, (f"{most} MB of result",), {}))
    except RecursionError:
        packed = pickle.dumps(_Raised(MemoryError, ("its depth",), {}))
    except Exception as exc:  # noqa: BLE001 - the boundary of the process: the parent raises it again
        parts = exc.args or (f"{budget.memory_mb} MB of memory",)
        raised = _Raised(type(exc), parts, dict(exc.__dict__), str(exc))
        packed = pickle.dumps(_refuse_value(exc) or raised)
    sender.send_bytes(packed)
    sender.close()


def _refuse_value(error: Exception) -> _Raised | None:
    """Return the refusal of a file with a value that does not fit what is made of it; None for another error. The value is not repeated."""
    from pydantic import ValidationError  # noqa: PLC0415 - decision 0140

    if not isinstance(error, ValidationError):
        return None
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"])) or "value"
    refusal = UserError(
        f"a {place} of a {error.title} in it cannot be kept: {first['msg']}",
        fix="leave this part out of the file",
    )
    return _Raised(UserError, refusal.args, dict(refusal.__dict__), str(refusal))


def _name(source: Path | Sequence[Path]) -> str:
    first, *others = [source] if isinstance(source, Path) else source or [Path("the input")]
    return f"{first} with {len(others)} more" if others else str(first)


def _stalled(source: Path | Sequence[Path], budget: ImportBudget) -> InputTooLarge:
    return InputTooLarge(
        f"{_name(source)} was not read within its limits: reading it waited most of the time, without using its {budget.seconds} s of"
        " processor time",
        fix="try again when the disk or network that it is on answers; --max-import-seconds (for all commands:"
        " PERIPLUS_MAX_IMPORT_SECONDS) raises how long it may wait, too",
    )


def _too_large(source: Path | Sequence[Path], budget: ImportBudget, what: str) -> InputTooLarge:
    return InputTooLarge(
        f"{_name(source)} expands beyond {what}; reading it may use {budget.memory_mb} MB of memory and {budget.seconds} s of"
        " processor time",
        fix="if you trust it, raise --max-import-memory (MB) or --max-import-seconds (for all commands:"
        " PERIPLUS_MAX_IMPORT_MEMORY, PERIPLUS_MAX_IMPORT_SECONDS)",
    )
