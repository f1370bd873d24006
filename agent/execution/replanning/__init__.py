"""Replanning: other approaches to a failed step, within the limits of `ResiliencePolicy` (WR).

`replanner` asks the `strategies` for approaches; `agent.execution.resilient_step_runner` applies them.
"""
