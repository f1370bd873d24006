"""The time that the attempts at one step share."""

from __future__ import annotations

import pytest

from agent.healing.element_wait import GLANCE_S, ElementWait


def test_each_pass_has_half_of_the_time_that_is_left():
    wait = ElementWait()
    wait.begin(10.0)
    assert wait.gate_s == 5.0
    wait.note(5.0)
    assert wait.gate_s == pytest.approx(2.5)
    wait.note(5.0)
    assert wait.gate_s == GLANCE_S


def test_another_step_has_its_own_time():
    wait = ElementWait()
    wait.note(60.0)
    wait.begin(4.0)
    assert wait.gate_s == 2.0
