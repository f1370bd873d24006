"""Opens the language model that an option or the settings name, with the budget of one run or command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from periplus.errors import UserError
from periplus.settings import PeriplusSettings, load_settings

if TYPE_CHECKING:
    from agent.inferencer import ModelInferencer
    from agent.language_models.model_budget import ModelBudget
    from agent.session import Session

Role = Literal["plan", "judge", "talk", "narrate"]
"""What a model is used for; each has a setting of its own (`PERIPLUS_MODEL_PLAN`, ...)."""
MODEL_ROLES: tuple[Role, ...] = get_args(Role)
NO_MODEL = "none"
MODEL_CALLS = "model_calls.jsonl"
"""The file in a run's folder with each call: what was sent, the answer, tokens and cost; without secrets."""


def choose_model(role: Role, named: str | None = None) -> str | None:
    """Return the name of the model: that of the command, of the role, or `PERIPLUS_MODEL`; None: no model."""
    settings = load_settings()
    of_role: str | None = getattr(settings, f"model_{role}")
    chosen = named or of_role or settings.model
    return None if chosen is None or chosen.casefold() == NO_MODEL else chosen


def load_inferencer(role: Role, named: str | None = None) -> ModelInferencer | None:
    """Return the model for a role, with a budget of its own; None if none is configured.

    `named`: the command's `--model`. Raises `UserError` if it is unavailable.
    """
    name = choose_model(role, named)
    if name is None:
        return None
    from agent.inferencer import InferenceFailed, ModelInferencer  # noqa: PLC0415 - decision 0140
    from agent.language_models.model_budget import ModelMeter  # noqa: PLC0415

    settings = load_settings()
    key = None if settings.model_key is None else settings.model_key.get_secret_value()
    try:
        return ModelInferencer(name, meter=ModelMeter(load_budget(settings)), key=key)
    except InferenceFailed as exc:
        raise UserError(str(exc), fix=exc.hint or "correct --model or PERIPLUS_MODEL") from exc


def load_budget(settings: PeriplusSettings) -> ModelBudget:
    """Return the budget of one run."""
    from agent.language_models.model_budget import ModelBudget  # noqa: PLC0415 - decision 0140

    return ModelBudget(settings.model_max_calls, settings.model_max_tokens, settings.model_max_cost)


def use_model(session: Session, model: ModelInferencer, page_text: bool | None = None) -> None:
    """Let a run ask a model where nothing else is left: for other approaches, which of several elements is meant, and
    about conditions whose author wants a model's judgement.

    `page_text`: whether it gets the page's texts; None: as the settings say.
    """
    from agent.execution.replanning.model_replanner import ModelReplanner  # noqa: PLC0415 - decision 0140
    from agent.healing.model_decider import ModelDecider  # noqa: PLC0415
    from agent.judged_texts import TextJudgements  # noqa: PLC0415

    model.redact = session.context.redact
    text = load_settings().model_page_text if page_text is None else page_text
    session.inferencer = ModelReplanner(model, page_text=text)
    session.decider = ModelDecider(model, page_text=text)
    session.judgements = TextJudgements(model) if text else None


def write_model_calls(model: ModelInferencer, folder: Path) -> None:
    """Append the calls of a run to the file in its folder; no file if there was none."""
    if model.meter.records:
        lines = [model.redact(each.model_dump_json()) for each in model.meter.records]
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / MODEL_CALLS).open("a", encoding="utf-8") as kept:
            kept.write("\n".join(lines) + "\n")
