"""What is done when a step does not come off: other approaches within limits, and an honest result (WR).

`policy` values come from `kb_schema.resilience`. Pure: `evaluation`, `completion`, `approaches`, `metrics`.
On the page: `judging`, `replanner` with its `strategies`, `carrying` (which puts it together for an engine).
"""
