"""How a host behaves towards visitors: policies, as small frozen values."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Manners:
    """How long is waited for what, in seconds, and how much faster or slower a step is."""

    follow_up_s: float = 4.0
    """After an answer, for another question, before the story goes on."""
    question_s: float = 20.0
    """For the question of somebody who said that there is one."""
    choice_s: float = 8.0
    """For which of two things was meant."""
    pause_s: float = 180.0
    """Of a pause that nobody ends, before it is asked whether to go on; then as long again."""
    pace_step: float = 1.25
    """What `slower` divides the pace by, and `faster` multiplies it with."""
