"""The options of commands that make workflows, with the defaults of MA 11."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from agent.synthesis.pipeline_config import SynthesisStrategy
from agent.synthesis.synthesis_prompts import DEFAULT_PROMPT_TEMPLATES
from agent.synthesis.traces.named_rules import RuleRefused, read_rule
from agent.synthesis.traces.trace_evaluation import EvaluationRule
from periplus.errors import UserError
from periplus.synthesis.workflow_synthesis import SynthesisJudgement

PROMPT_SUFFIX = ".jinja"

ValidateRuns = Annotated[
    int | None,
    typer.Option(
        "--validate",
        metavar="N",
        min=1,
        help="Run the workflow on the site with the inputs of N traces, also if the task sends something; default: 3,"
        " if the task may be repeated.",
        show_default=False,
    ),
]
NoValidate = Annotated[bool, typer.Option("--no-validate", help="Do not run the workflow on the site.")]
Strategy = Annotated[
    SynthesisStrategy,
    typer.Option(
        help="How steps are classified: by rules, by a model only if the rules are not sure, or by a model."
    ),
]
Judge = Annotated[bool, typer.Option("--judge", help="Let a model judge each trace first.")]
MinScore = Annotated[
    float, typer.Option(metavar="SCORE", min=0, max=1, help="Minimum score of a trace with --judge, 0 to 1.")
]
Rules = Annotated[
    list[str] | None,
    typer.Option(
        "--rule",
        metavar="RULE",
        help="Use only traces that keep this rule: max-steps=N, max-seconds=N, no-errors, has-input=NAME, ends-at=PATTERN,"
        " shows=TEXT. warn:RULE only notes it. May be repeated.",
        show_default=False,
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        metavar="PROVIDER:MODEL", help="The language model; default: PERIPLUS_MODEL.", show_default=False
    ),
]
Prompts = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="A folder with evaluation.jinja or synthesis.jinja, in place of the model's usual prompts.",
        show_default=False,
    ),
]
MinTraces = Annotated[int, typer.Option(metavar="N", min=1, help="Minimum number of usable traces.")]
Accept = Annotated[
    list[str] | None,
    typer.Option(
        "--accept",
        metavar="TRACE",
        help="Use a trace that was left out with a question: the application refused nothing that matters."
        " May be repeated.",
        show_default=False,
    ),
]


def choose_validation_runs(validate: int | None, *, no_validate: bool) -> int | None:
    """Return the number of runs, 0 for none, None for the default. Raises `UserError` if both are given."""
    if no_validate and validate is not None:
        raise UserError("--validate and --no-validate contradict each other", fix="leave out one of them")
    return 0 if no_validate else validate


def choose_judgement(
    strategy: SynthesisStrategy,
    *,
    judge: bool,
    rules: list[str] | None,
    min_score: float,
    model: str | None,
    prompts: Path | None,
    min_traces: int,
    accept: list[str] | None = None,
) -> SynthesisJudgement:
    """Return how traces are evaluated and made into a workflow. Raises `UserError`."""
    evaluation, chosen = _choose_evaluation(rules, judge=judge)
    return SynthesisJudgement(
        strategy,
        evaluation,
        min_traces,
        model,
        frozenset(accept or ()),
        min_score,
        read_prompt_templates(prompts),
        chosen,
    )


def _choose_evaluation(
    rules: list[str] | None, *, judge: bool
) -> tuple[Literal["exception_only", "rule_based", "llm_judge"], tuple[EvaluationRule, ...]]:
    """Return how traces are evaluated, and by which rules. Raises `UserError`."""
    if rules and judge:
        raise UserError("--rule and --judge contradict each other", fix="leave out one of them")
    if not rules:
        return ("llm_judge" if judge else "exception_only"), ()
    try:
        return "rule_based", tuple(read_rule(each) for each in rules)
    except RuleRefused as exc:
        raise UserError(f"--rule: {exc.message}", fix=exc.fix) from exc


def read_prompt_templates(folder: Path | None) -> dict[str, str] | None:
    """Return the templates of a folder by key; None without a folder. Raises `UserError` for others than are known."""
    if folder is None:
        return None
    files = sorted(folder.glob(f"*{PROMPT_SUFFIX}")) if folder.is_dir() else []
    known = ", ".join(f"{key}{PROMPT_SUFFIX}" for key in DEFAULT_PROMPT_TEMPLATES)
    unknown = [file.name for file in files if file.stem not in DEFAULT_PROMPT_TEMPLATES]
    if not files or unknown:
        found = f"has {unknown[0]}" if unknown else "has no template"
        raise UserError(f"--prompts: {folder} {found}", fix=f"name the templates {known}")
    try:
        return {file.stem: file.read_text(encoding="utf-8") for file in files}
    except (OSError, UnicodeDecodeError) as exc:
        raise UserError(
            f"--prompts: a template in {folder} cannot be read: {exc}", fix="save it as UTF-8"
        ) from exc
