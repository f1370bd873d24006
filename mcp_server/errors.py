"""What the server refuses, and what the caller can do about it.

    KnowledgeServerError     a refusal the caller can act on; becomes an MCP tool error
    +-- UnknownName          no such website, screen, task, ...; suggests the probable name
    +-- BadRequest           an argument that cannot be used as given
    |   +-- SnapshotTooLarge a page beyond the size limit
    |   +-- InvalidArguments arguments that a tool does not take, or missing ones
    +-- SourceUnavailable    the store did not answer (raised by implementations of `KnowledgeSource`)
    +-- ServerBusy           too many calls at once; retry later
    +-- CallTimeout          the call took too long
    +-- MissingScope         the token lacks the scope
    +-- ServerReadOnly       the server was started without tools that change something

Any other exception that escapes a tool is a defect: the SDK logs it and hides it from the client.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kb_schema.documents import did_you_mean
from kb_schema.excerpts import excerpt

FEW = 12
"""Most known names that a message lists; it only counts the others."""
FEW_PROBLEMS = 5
"""Most problems of one call that a message lists."""


class KnowledgeServerError(Exception):
    """A refusal. `hint` says what to call or change next. Programs tell refusals apart by `code`."""

    code = "refused"

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        self.message = message
        self.hint = hint
        super().__init__(f"{message}; {hint}" if hint else message)


class UnknownName(KnowledgeServerError):
    """A name that the knowledge base does not have. `kind` is a word for people: `screen`, `task`, ..."""

    code = "unknown_name"

    def __init__(self, kind: str, name: str, known: Iterable[str], *, hint: str | None = None) -> None:
        self.kind = kind
        self.name = name
        names = sorted(known)
        message = f"no {kind} {excerpt(name)!r}"
        meant = did_you_mean(name, names)
        if meant is not None:
            message += f"; {meant}"
        elif names:
            more = f" and {len(names) - FEW} more" if len(names) > FEW else ""
            message += f"; known: {', '.join(names[:FEW])}{more}"
        super().__init__(message, hint=hint)


class BadRequest(KnowledgeServerError):
    """An argument that cannot be used as given."""

    code = "bad_request"


class SnapshotTooLarge(BadRequest):
    """A page beyond the size limit. Sizes in bytes."""

    def __init__(self, size: int, limit: int) -> None:
        self.size = size
        self.limit = limit
        super().__init__(
            f"the snapshot has {size / 1e6:.1f} MB, at most {limit / 1e6:.1f} MB are looked at",
            hint="send the page without scripts, styles and data URLs, or send its text",
        )


class InvalidArguments(BadRequest):
    """Arguments that do not fit the tool. Each of the `problems` names its argument."""

    code = "bad_arguments"

    def __init__(self, tool: str, problems: Sequence[str], *, hint: str | None = None) -> None:
        self.tool = tool
        self.problems = tuple(problems)
        more = f" (and {len(problems) - FEW_PROBLEMS} more)" if len(problems) > FEW_PROBLEMS else ""
        super().__init__(f"{tool}: {'; '.join(problems[:FEW_PROBLEMS])}{more}", hint=hint)


class ServerBusy(KnowledgeServerError):
    """Too many calls at once. Retry after `retry_after_s` seconds."""

    code = "busy"
    retry_after_s = 1

    def __init__(self, running: int, whose: str) -> None:
        self.running = running
        super().__init__(
            f"{running} calls {whose} are being answered", hint=f"call again in {self.retry_after_s} s"
        )


class CallTimeout(KnowledgeServerError):
    """A call was given up after `seconds`."""

    code = "took_too_long"

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(
            f"given up after {seconds:g} s",
            hint="ask for less: a smaller page, a lower k; if it acts, look what was done",
        )


class MissingScope(KnowledgeServerError):
    """The caller's token lacks a scope."""

    code = "insufficient_scope"

    def __init__(self, scope: str) -> None:
        self.scope = scope
        super().__init__(
            f"your token lacks the scope {scope!r}",
            hint=f"ask the operator of the server for one: `periplus mcp token new --scope {scope}`",
        )


class ServerReadOnly(KnowledgeServerError):
    """A tool that changes something, on a server that was started without them."""

    code = "read_only"

    def __init__(self, tool: str) -> None:
        self.tool = tool
        super().__init__(f"{tool} changes something, and this server only reads")


class SourceUnavailable(KnowledgeServerError):
    """The store could not be read. The call may be retried."""

    code = "source_down"
