"""What the desk refuses, and what to do about it.

    DeskError            a refusal the caller can act on; becomes an MCP tool error
    +-- UnknownName      no such website, screen, task, ...; says what was probably meant
    +-- BadRequest       an argument that cannot be used as given
    |   +-- TooLarge     a page beyond the size the desk looks at
    |   +-- BadArguments   arguments a tool does not take, or lacks
    +-- SourceDown       the store did not answer (raised by implementations of `KnowledgeSource`)
    +-- Busy             too many calls at once; come back
    +-- TookTooLong      a call was given up
    +-- Forbidden        the token lacks the scope
    +-- ReadOnly         the server was started without tools that change something

Anything else that escapes a tool is a defect: the SDK logs it and tells the client nothing of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kb_schema.documents import did_you_mean
from kb_schema.excerpts import excerpt

FEW = 12
"""How many known names a message lists before it only counts them."""
FEW_PROBLEMS = 5
"""How many problems of one call a message tells."""


class DeskError(Exception):
    """A refusal. `hint` is what to call or change next, `code` what a program can tell it by."""

    code = "refused"

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        self.message = message
        self.hint = hint
        super().__init__(f"{message}; {hint}" if hint else message)


class UnknownName(DeskError):
    """A name that the knowledge does not have. `kind` is a word for people: `screen`, `task`, ..."""

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


class BadRequest(DeskError):
    """An argument that cannot be used as given."""

    code = "bad_request"


class TooLarge(BadRequest):
    """A page beyond the size limit. Sizes in bytes."""

    def __init__(self, size: int, limit: int) -> None:
        self.size = size
        self.limit = limit
        super().__init__(
            f"the snapshot has {size / 1e6:.1f} MB, at most {limit / 1e6:.1f} MB are looked at",
            hint="send the page without scripts, styles and data URLs, or send its text",
        )


class BadArguments(BadRequest):
    """Arguments of a call that do not fit the tool. `problems` are in words, each naming its argument."""

    code = "bad_arguments"

    def __init__(self, tool: str, problems: Sequence[str], *, hint: str | None = None) -> None:
        self.tool = tool
        self.problems = tuple(problems)
        more = f" (and {len(problems) - FEW_PROBLEMS} more)" if len(problems) > FEW_PROBLEMS else ""
        super().__init__(f"{tool}: {'; '.join(problems[:FEW_PROBLEMS])}{more}", hint=hint)


class Busy(DeskError):
    """More calls at once than the server bears. Come back after `retry_after_s` seconds."""

    code = "busy"
    retry_after_s = 1

    def __init__(self, running: int, whose: str) -> None:
        self.running = running
        super().__init__(
            f"{running} calls {whose} are being answered", hint=f"call again in {self.retry_after_s} s"
        )


class TookTooLong(DeskError):
    """A call was given up after `seconds`."""

    code = "took_too_long"

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(f"given up after {seconds:g} s", hint="ask for less: a smaller page, a lower k")


class Forbidden(DeskError):
    """The token of whoever asks lacks a scope."""

    code = "insufficient_scope"

    def __init__(self, scope: str) -> None:
        self.scope = scope
        super().__init__(
            f"your token lacks the scope {scope!r}",
            hint=f"ask whoever runs the server for one: `periplus mcp token new --scope {scope}`",
        )


class ReadOnly(DeskError):
    """A tool that changes something, on a server that was started without them."""

    code = "read_only"

    def __init__(self, tool: str) -> None:
        self.tool = tool
        super().__init__(f"{tool} changes something, and this server only reads")


class SourceDown(DeskError):
    """The store could not be read. May be tried again."""

    code = "source_down"
