"""What of synthesis can be set, with MA's names and defaults, and the thresholds beyond them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum


class EvaluationStrategy(Enum):
    """How traces are judged before they are used (MA stage 2)."""

    EXCEPTION_ONLY = "exception_only"
    RULE_BASED = "rule_based"
    LLM_JUDGE = "llm_judge"


class SynthesisStrategy(Enum):
    """Who decides what becomes of a pattern (MA stage 6)."""

    RULE_BASED = "rule_based"
    LLM = "llm"
    HYBRID = "hybrid"


@dataclass(frozen=True, slots=True)
class PipelineConfig:
    """MA `PipelineConfig`."""

    run_count: int = 5
    validate: bool = True
    validation_runs: int = 3
    agent_action_type: str = "meta_workflow_agent"
    evaluation_strategy: EvaluationStrategy = EvaluationStrategy.EXCEPTION_ONLY
    synthesis_strategy: SynthesisStrategy = SynthesisStrategy.RULE_BASED
    min_success_traces: int = 1
    generate_script: bool = False
    prompt_templates: dict[str, str] | None = None
    """Jinja2 templates by key, over the defaults (`prompts.DEFAULT_PROMPT_TEMPLATES`)."""
    min_alignment_score: float = 0.25
    """Traces that agree less than this are not the same task (MA, error handling 4)."""
    agent_max_steps: int = 5
    """Bound of an agent step (DESIGN 6: bounded)."""
    name: str = "workflow"
    """Of what is made; ids are formed from it."""
    custom_type_map: dict[str, str] = field(default_factory=dict)
    """Action names of an agent's own -> ours."""
