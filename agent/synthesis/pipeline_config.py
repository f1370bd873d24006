"""The configuration of the synthesis pipeline, with the names and defaults of MA."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum


class EvaluationStrategy(Enum):
    """How traces are evaluated before they are used (MA stage 2)."""

    EXCEPTION_ONLY = "exception_only"
    RULE_BASED = "rule_based"
    LLM_JUDGE = "llm_judge"


class SynthesisStrategy(Enum):
    """What decides which action a pattern becomes: rules, a model, or both (MA stage 6)."""

    RULE_BASED = "rule_based"
    LLM = "llm"
    HYBRID = "hybrid"


@dataclass(frozen=True, slots=True)
class PipelineConfig:
    """The options of `MetaAgentPipeline` (MA `PipelineConfig`)."""

    run_count: int = 5
    validate: bool = True
    validation_runs: int = 3
    agent_action_type: str = "meta_workflow_agent"
    evaluation_strategy: EvaluationStrategy = EvaluationStrategy.EXCEPTION_ONLY
    synthesis_strategy: SynthesisStrategy = SynthesisStrategy.RULE_BASED
    min_success_traces: int = 1
    min_score: float = 0.5
    """Minimum score of a model's judgement of a trace, 0 to 1."""
    generate_script: bool = False
    prompt_templates: dict[str, str] | None = None
    """Jinja2 templates by key; they override `synthesis_prompts.DEFAULT_PROMPT_TEMPLATES`."""
    min_alignment_score: float = 0.25
    """Minimum share of equal steps; traces below it are not the same task (MA, error handling 4)."""
    agent_max_steps: int = 5
    """Maximum number of actions of an agent step, so that every agent step ends."""
    name: str = "workflow"
    """Name of the workflow; its ids are derived from it."""
    accepted_traces: frozenset[str] = frozenset()
    """Ids of traces that count although the application seemed to refuse something."""
    only_succeeded: bool = False
    """Whether failed runs are rejected whatever the evaluation strategy says."""
    custom_type_map: dict[str, str] = field(default_factory=dict)
    """Maps action names of a custom agent to action types of the vocabulary."""
