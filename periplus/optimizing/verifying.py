"""Requirements for the optimization loop: read from files, and verified by the verifier of `periplus verify`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from agent.events import Event
from agent.verifying.planning import RequirementsInvalid, read_requirements
from kb_schema.verification import Requirement, VerdictReport
from periplus.errors import UserError
from periplus.verifying.verifier import VerifySettings, open_verifier


async def read_wanted(files: Sequence[Path], base_url: str | None) -> list[Requirement]:
    """The requirements of files, in every format of `periplus verify`. Raises `UserError` with all that is
    wrong in them.
    """
    try:
        return await read_requirements(files, default_url=base_url)
    except RequirementsInvalid as exc:
        raise UserError(
            str(exc), fix="correct them; `periplus verify --help` shows what they look like"
        ) from exc


async def verified(
    settings: VerifySettings, wanted: Sequence[Requirement], tell: Callable[[Event], None]
) -> list[VerdictReport]:
    """Verify them one after the other. Raises as `open_verifier` and `Verifier.verify` do."""
    async with open_verifier(settings) as verifier:
        return [await verifier.verify(each, tell=tell) for each in wanted]
