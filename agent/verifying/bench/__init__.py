"""The page under verification: built into plans, executed, judged, healed, with evidence where it fails.

What is expected is `planning`'s, what a failure means is `root_cause`'s, in which order things are done is
`flow`'s.
"""

from __future__ import annotations

from agent.verifying.bench.bench import Bench, open_bench
from agent.verifying.bench.building import build_plan
from agent.verifying.bench.executing import execute_step
from agent.verifying.bench.healing import heal_step
from agent.verifying.bench.policy import BenchPolicy
from agent.verifying.bench.results import Healing, Undone

__all__ = [
    "Bench",
    "BenchPolicy",
    "Healing",
    "Undone",
    "build_plan",
    "execute_step",
    "heal_step",
    "open_bench",
]
