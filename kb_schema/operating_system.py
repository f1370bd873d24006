"""What differs between operating systems: file locks, limits of a process, process groups, and who the user is.

Every other module calls these functions; nothing else imports `fcntl`, `termios`, `resource`, `pwd` or `msvcrt`. On Windows, memory
and processor time of a reading process are not limited, and a terminal is asked for one line at a time in a thread.
"""

from __future__ import annotations

import getpass
import importlib
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

WINDOWS = sys.platform == "win32"
USUAL_DESCRIPTORS = 8_192
"""Open files that Windows allows a process through its C library."""
_FOREVER = 2**31 - 1


def _module(name: str) -> Any:
    """Return a module that only some systems have."""
    return importlib.import_module(name)


@contextmanager
def lock_file(descriptor: int) -> Iterator[None]:
    """Hold an exclusive lock on an open file inside the block; wait for it. The system releases it with the process."""
    if WINDOWS:
        msvcrt = _module("msvcrt")
        os.lseek(descriptor, 0, os.SEEK_SET)
        while True:
            try:
                msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)  # gives up after ten seconds
                break
            except OSError:
                continue
        try:
            yield
        finally:
            os.lseek(descriptor, 0, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
        return
    fcntl = _module("fcntl")
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


def find_user_name() -> str:
    """Return the name of the system's user who runs this process; the number of one without a name."""
    if WINDOWS:
        return getpass.getuser()
    number = os.getuid()
    try:
        return str(_module("pwd").getpwuid(number).pw_name)
    except KeyError:  # a container's user without a name
        return str(number)


def is_root() -> bool:
    """Return whether this process is the superuser's."""
    return not WINDOWS and os.geteuid() == 0


def count_file_descriptors() -> int:
    """Return how many files and connections this process may have open at once."""
    if WINDOWS:
        return USUAL_DESCRIPTORS
    resource = _module("resource")
    limit = int(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    return _FOREVER if limit == resource.RLIM_INFINITY else limit


def limit_this_process(*, more_bytes: int, more_seconds: int) -> bool:
    """Let this process use that much more memory and processor time, then end it; return whether the system can."""
    if WINDOWS:
        return False
    resource = _module("resource")
    used = 0
    with suppress(OSError):
        used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    if sys.platform == "linux":  # macOS counts mapped libraries and refuses lower limits
        resource.setrlimit(resource.RLIMIT_AS, (used + more_bytes, used + more_bytes))
    taken = resource.getrusage(resource.RUSAGE_SELF)
    seconds = int(taken.ru_utime + taken.ru_stime) + more_seconds
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(5)
    return True


def read_scheduled_s(pid: int) -> float | None:
    """Return how long a process computed or waited for a free processor, in seconds; None where the system does not tell."""
    try:
        computed, waited, _ = Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()
        return (int(computed) + int(waited)) / 1e9
    except (OSError, ValueError):
        return None


def leave_terminal() -> None:
    """Detach this process from the terminal, so that its Ctrl-C is not for it."""
    if not WINDOWS:
        os.setsid()


def end_process_group(pid: int, *, at_once: bool) -> None:
    """End a process that was started with `start_new_session=True`, and those that it started, as far as the system can.

    Raises `ProcessLookupError` if it is gone.
    """
    if WINDOWS:
        try:
            os.kill(pid, signal.SIGTERM)  # ends the process itself at once
        except OSError as exc:
            raise ProcessLookupError(pid) from exc
        return
    os.killpg(pid, signal.SIGKILL if at_once else signal.SIGTERM)


def is_process_alive(pid: int) -> bool:
    """Return whether a process of this machine exists; another user's does, too."""
    if WINDOWS:
        # os.kill(pid, 0) would send it Ctrl-C.
        kernel = _module("ctypes").windll.kernel32
        handle = kernel.OpenProcess(0x00100000, False, pid)  # SYNCHRONIZE
        if not handle:
            return bool(kernel.GetLastError() == 5)  # access denied: it exists
        alive = kernel.WaitForSingleObject(handle, 0) == 0x102  # WAIT_TIMEOUT
        kernel.CloseHandle(handle)
        return bool(alive)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


@contextmanager
def without_echo(descriptor: int) -> Iterator[None]:
    """Let a terminal not show what is typed inside the block."""
    termios = _module("termios")
    usual = termios.tcgetattr(descriptor)
    silent = termios.tcgetattr(descriptor)
    silent[3] &= ~termios.ECHO
    termios.tcsetattr(descriptor, termios.TCSADRAIN, silent)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, usual)


def ask_for_line(*, secret: bool) -> str | None:
    """Read one line where the event loop cannot wait for a terminal; None at its end. Blocks."""
    try:
        return getpass.getpass("") if secret else input()
    except EOFError:
        return None
