"""Reads and verifies requirements for the optimization loop, with the verifier of `periplus verify`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from agent.events import Event
from agent.verification.planning import RequirementsInvalid, read_requirements
from kb_schema.verification import Requirement, VerdictReport
from periplus.errors import UserError
from periplus.foreign_input import ImportBudget, read_foreign
from periplus.verification.requirement_verifier import open_verifier
from periplus.verification.verifier_settings import VerifierSettings


async def read_requirement_files(
    files: Sequence[Path], base_url: str | None, budget: ImportBudget
) -> list[Requirement]:
    """Return the requirements of files, in every format of `periplus verify`. Raises `UserError` with all
    problems, and `InputTooLarge`.
    """
    try:
        return await read_requirements(
            files,
            default_url=base_url,
            read=lambda function, paths: read_foreign(paths, budget, function, paths),
        )
    except RequirementsInvalid as exc:
        raise UserError(
            str(exc), fix="correct them; `periplus verify --help` shows what they look like"
        ) from exc


async def verify_in_turn(
    settings: VerifierSettings, wanted: Sequence[Requirement], tell: Callable[[Event], None]
) -> list[VerdictReport]:
    """Verify the requirements one after the other. Raises as `open_verifier` and `RequirementVerifier.verify`
    do.
    """
    async with open_verifier(settings) as verifier:
        return [await verifier.verify(each, tell=tell) for each in wanted]
