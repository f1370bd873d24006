"""How far a run may go astray before it stops, and what still counts as done (WR, all phases).

`ResiliencePolicy` is what holds for a run; `ResilienceRules` is what a website or a task says
differently. The names are WR's own in snake_case. What is done with them: `agent/resilience`.
"""

from __future__ import annotations

from pydantic import Field

from kb_schema.base import LocalId, Model, Probability, Seconds

MAX_TOTAL_REPLANS = 15
"""WR, success criterion 1: no workflow runs for more replan attempts, whatever is configured."""
DEGRADED_FROM = 40.0
"""WR 5.2: from that completion on a run is `degraded`, below it a `failure`."""
MIN_PARTIAL_CONFIDENCE = 0.5
"""WR 3.3: of a step that may succeed in part and does not say otherwise."""


class ResilienceRules(Model):
    """What a website or a task says of its runs; what it leaves out stays as it is configured."""

    max_retries: int | None = Field(default=None, ge=0, le=10)
    max_replans_per_step: int | None = Field(default=None, ge=0, le=999)
    max_total_replans: int | None = Field(default=None, ge=0, le=MAX_TOTAL_REPLANS)
    enable_replanning: bool | None = None
    enable_degradation: bool | None = None
    allow_early_exit: bool | None = None
    min_acceptable_completion: float | None = Field(default=None, ge=0, le=100)
    min_success_confidence: Probability | None = None
    timeout_s: Seconds | None = None
    critical_steps: tuple[LocalId, ...] = ()


class ResiliencePolicy(Model):
    """WR's configuration with WR's defaults."""

    max_retries: int = Field(default=3, ge=0, le=10)
    """`maxRetries`: of one step by one approach, beyond its first attempt, where its own rules ask for more
    than the one that every safe step gets."""
    max_replans_per_step: int = Field(default=3, ge=0, le=999)
    """`maxReplansPerStep`; WR's 999 means: as many as the whole run has."""
    max_total_replans: int = Field(default=10, ge=0, le=MAX_TOTAL_REPLANS)
    """`maxTotalReplans`, of a run with all the tasks within it."""
    enable_replanning: bool = True
    """`enableReplanning`; False: a step that failed by its authored approach has failed."""
    enable_degradation: bool = True
    """`enableDegradation`: go on without a step where nothing that follows can do harm for it."""
    allow_early_exit: bool = False
    """`allowEarlyExit`: stop as soon as enough is done. Opt-in."""
    min_acceptable_completion: float = Field(default=70.0, ge=0, le=100)
    """`minAcceptableCompletion`, in percent: from there a run is `partial`, and may exit early."""
    min_success_confidence: Probability = 0.7
    """`minSuccessConfidence` (WR 3.1): an acceptable other outcome below it counts in part only."""
    timeout_s: Seconds | None = None
    """`timeout` of a run: no step and no replan begins after it. None: none."""
    critical_steps: tuple[LocalId, ...] = ()
    """`criticalSteps`: nothing counts without them; beside those that change the site (decision 0021)."""

    def under(self, *rules: ResilienceRules | None) -> ResiliencePolicy:
        """The policy with what knowledge says differently, the later going before the earlier.

        >>> ResiliencePolicy().under(ResilienceRules(max_total_replans=2), None).max_total_replans
        2
        """
        said: dict[str, object] = {}
        critical = list(self.critical_steps)
        for each in rules:
            if each is not None:
                said |= {
                    name: value for name, value in dict(each).items()
                    if value is not None and name != "critical_steps"
                }  # fmt: skip
                critical += each.critical_steps
        return self.model_copy(update={**said, "critical_steps": tuple(dict.fromkeys(critical))})

    @property
    def partial_from(self) -> float:
        """Completion in percent from which a run is `partial`."""
        return self.min_acceptable_completion

    @property
    def degraded_from(self) -> float:
        """Completion in percent from which a run is `degraded`."""
        return min(DEGRADED_FROM, self.min_acceptable_completion)
