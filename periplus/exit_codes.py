"""The exit codes of all commands; docs/exit-codes.md shows them as a table."""

from __future__ import annotations

from enum import IntEnum

from kb_schema.run_records import RunStatus


class ExitCode(IntEnum):
    """What the exit code of a command says."""

    DONE = 0
    FAILED = 1
    """The work failed, or an internal error; for checks: something was found."""
    USER_ERROR = 2
    """An error that the user can correct; nothing was done."""
    NEEDS_PERSON = 3
    PARTIAL = 4
    UNVERIFIED = 5
    """Everything was done, but nothing seen in the application shows it."""
    INTERRUPTED = 130


_OF_STATUS = {
    RunStatus.SUCCESS: ExitCode.DONE,
    RunStatus.UNVERIFIED: ExitCode.UNVERIFIED,
    RunStatus.PARTIAL: ExitCode.PARTIAL,
    RunStatus.DEGRADED: ExitCode.PARTIAL,
    RunStatus.FAILURE: ExitCode.FAILED,
    RunStatus.NEEDS_PERSON: ExitCode.NEEDS_PERSON,
}


def exit_code_for(status: RunStatus, *, allow_unverified: bool = False) -> ExitCode:
    """Return the exit code of a run. `allow_unverified`: an unverified run counts as done."""
    if allow_unverified and status is RunStatus.UNVERIFIED:
        return ExitCode.DONE
    return _OF_STATUS[status]
