"""The limits of a run's retries and replans, and what counts as done (WR, all phases).

`ResiliencePolicy` applies to a run; `ResilienceRules` is what a website or a task overrides. The names are
WR's in snake_case. `agent/execution/replanning` applies them.
"""

from __future__ import annotations

from pydantic import Field

from kb_schema.base import LocalId, Model, Probability, Seconds

MAX_TOTAL_REPLANS = 15
"""The most replan attempts of any workflow, whatever is configured (WR, success criterion 1)."""
DEGRADED_FROM = 40.0
"""The completion from which a run is `degraded`; below it, it is a `failure` (WR 5.2)."""
MIN_PARTIAL_CONFIDENCE = 0.5
"""The default for a step that may succeed in part (WR 3.3)."""


class ResilienceRules(Model):
    """What a website or a task overrides for its runs; other values stay as configured."""

    max_retries: int | None = Field(default=None, ge=0, le=10)
    max_replans_per_step: int | None = Field(default=None, ge=0, le=999)
    max_total_replans: int | None = Field(default=None, ge=0, le=MAX_TOTAL_REPLANS)
    enable_replanning: bool | None = None
    enable_degradation: bool | None = None
    allow_early_exit: bool | None = None
    min_acceptable_completion: float | None = Field(default=None, ge=0, le=100)
    min_success_confidence: Probability | None = None
    timeout_s: Seconds | None = None
    step_timeout_s: Seconds | None = None
    critical_steps: tuple[LocalId, ...] = ()


class ResiliencePolicy(Model):
    """WR's configuration with WR's defaults."""

    max_retries: int = Field(default=3, ge=0, le=10)
    """`maxRetries`: retries of one step by one approach, if its own rules ask for more than the default one.
    """
    max_replans_per_step: int = Field(default=3, ge=0, le=999)
    """`maxReplansPerStep`; WR's 999 means as many as the whole run has."""
    max_total_replans: int = Field(default=10, ge=0, le=MAX_TOTAL_REPLANS)
    """`maxTotalReplans`: replans of a run, including all tasks within it."""
    enable_replanning: bool = True
    """`enableReplanning`; False: a step fails when its authored approach fails."""
    enable_degradation: bool = True
    """`enableDegradation`: skip a step if the following steps can do no harm without it."""
    allow_early_exit: bool = False
    """`allowEarlyExit`: stop as soon as enough is done. Opt-in."""
    min_acceptable_completion: float = Field(default=70.0, ge=0, le=100)
    """`minAcceptableCompletion`, in percent: from there a run is `partial`, and may exit early."""
    min_success_confidence: Probability = 0.7
    """`minSuccessConfidence` (WR 3.1): an acceptable other outcome below it counts only in part."""
    timeout_s: Seconds | None = None
    """`timeout` of a run: no step and no replan starts after it. None: no timeout."""
    step_timeout_s: Seconds = 10.0
    """How long one step may wait for its element, with all alternatives and replans. A step's own `timeout_s` overrides it.
    """
    critical_steps: tuple[LocalId, ...] = ()
    """`criticalSteps`: a run without them is a failure; besides those that change the site (decision 0021).
    """

    def under(self, *rules: ResilienceRules | None) -> ResiliencePolicy:
        """Return the policy with the rules of the knowledge; later rules take precedence.

        >>> ResiliencePolicy().under(ResilienceRules(max_total_replans=2), None).max_total_replans
        2
        """
        updates: dict[str, object] = {}
        critical = list(self.critical_steps)
        for each in rules:
            if each is not None:
                updates |= {
                    name: value
                    for name, value in dict(each).items()
                    if value is not None and name != "critical_steps"
                }
                critical += each.critical_steps
        return self.model_copy(update={**updates, "critical_steps": tuple(dict.fromkeys(critical))})

    @property
    def partial_from(self) -> float:
        """The completion in percent from which a run is `partial`."""
        return self.min_acceptable_completion

    @property
    def degraded_from(self) -> float:
        """The completion in percent from which a run is `degraded`."""
        return min(DEGRADED_FROM, self.min_acceptable_completion)
