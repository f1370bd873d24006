"""The language model that the settings name, where one is asked for."""

from __future__ import annotations

from agent.inferring import InferenceFailed, Inferencer, ModelInferencer
from periplus.errors import UserError
from periplus.settings import load_settings


def configured_inferencer() -> Inferencer | None:
    """What `PERIPLUS_MODEL` names; None where it names nothing. Raises `UserError` where it cannot be had."""
    name = load_settings().model
    if name is None:
        return None
    try:
        return ModelInferencer(name)
    except InferenceFailed as exc:
        raise UserError(str(exc), fix=exc.hint or "correct or unset PERIPLUS_MODEL") from exc
