"""Loads the language model that the settings name."""

from __future__ import annotations

from agent.inferencer import InferenceFailed, Inferencer, ModelInferencer
from periplus.errors import UserError
from periplus.settings import load_settings


def load_inferencer() -> Inferencer | None:
    """Return the model named by `PERIPLUS_MODEL`; None if it is not set. Raises `UserError` if it is unavailable."""
    name = load_settings().model
    if name is None:
        return None
    try:
        return ModelInferencer(name)
    except InferenceFailed as exc:
        raise UserError(str(exc), fix=exc.hint or "correct or unset PERIPLUS_MODEL") from exc
