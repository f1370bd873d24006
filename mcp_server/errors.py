"""What the desk refuses, and what to do about it.

    DeskError            a refusal the caller can act on; becomes an MCP tool error
    +-- UnknownName      no such website, screen, task, ...; says what was probably meant
    +-- BadRequest       an argument that cannot be used as given
    |   +-- TooLarge     a page beyond the size the desk looks at
    +-- SourceDown       the store did not answer (raised by implementations of `KnowledgeSource`)

Anything else that escapes a tool is a defect: the SDK logs it and tells the client nothing of it.
"""

from __future__ import annotations

from collections.abc import Iterable

from kb_schema.documents import did_you_mean

FEW = 12
"""How many known names a message lists before it only counts them."""


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
        message = f"no {kind} {name!r}"
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


class SourceDown(DeskError):
    """The store could not be read. May be tried again."""

    code = "source_down"
