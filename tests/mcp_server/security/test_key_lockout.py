"""Wrong keys lock an address out for a time that doubles; a key that was right is let in."""

from __future__ import annotations

from mcp_server.security.key_lockout import (
    FORGOTTEN_AFTER_S,
    IN_TOTAL,
    LONGEST_IN_TOTAL_S,
    LONGEST_S,
    MOST_ADDRESSES,
    KeyLockout,
)


class _Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def _guess(lockout: KeyLockout, clock: _Clock) -> float:
    """One wrong key after the lock has ended; the seconds of the lock."""
    waited = lockout.wait("1.2.3.4", "wrong")
    clock.now += waited
    assert lockout.wait("1.2.3.4", "wrong") == 0
    lockout.note("1.2.3.4", "wrong", right=False)
    return waited


def test_the_time_doubles_and_has_an_end():
    clock = _Clock()
    lockout = KeyLockout(3, clock=clock)
    waits = [_guess(lockout, clock) for _ in range(16)]
    assert waits[:8] == [0, 0, 0, 1, 2, 4, 8, 16]
    assert waits[-1] == LONGEST_S
    assert lockout.wait("5.6.7.8", "wrong") == 0
    clock.now += FORGOTTEN_AFTER_S + LONGEST_S
    assert _guess(lockout, clock) == 0
    assert _guess(lockout, clock) == 0


def test_a_key_that_was_right_there_is_looked_at_and_others_are_not():
    clock = _Clock()
    lockout = KeyLockout(2, clock=clock)
    lockout.note("1.2.3.4", "right", right=True)
    for _ in range(5):
        lockout.note("1.2.3.4", "wröng\udcff", right=False)
    assert lockout.wait("1.2.3.4", "right") == 0
    assert lockout.wait("1.2.3.4", "another") > 0
    assert lockout.wait("5.6.7.8", "right") == 0


def test_a_client_that_names_another_address_with_each_wrong_key_is_locked_out_too():
    clock = _Clock()
    lockout = KeyLockout(3, clock=clock)
    lockout.note("5.6.7.8", "right", right=True)
    looked_at = 0
    for number in range(1_000):
        if lockout.wait(f"10.0.{number // 256}.{number % 256}", f"wrong {number}") == 0:
            lockout.note(f"10.0.{number // 256}.{number % 256}", f"wrong {number}", right=False)
            looked_at += 1
    assert looked_at == 3 * IN_TOTAL
    waits = []
    for number in range(12):
        waits.append(lockout.wait("1.2.3.4", "never seen"))
        clock.now += waits[-1]
        lockout.note(f"10.1.0.{number}", "wrong", right=False)
    assert waits[:4] == [1, 2, 4, 8]
    assert waits[-1] == LONGEST_IN_TOTAL_S
    assert lockout.wait("9.9.9.9", "right") == 0  # right before, from another address
    clock.now += FORGOTTEN_AFTER_S + 1
    lockout.note("10.2.0.1", "wrong", right=False)
    assert lockout.wait("1.2.3.4", "never seen") == 0


def test_memory_is_bounded():
    lockout = KeyLockout(2)
    for number in range(MOST_ADDRESSES + 50):
        lockout.note(f"address {number}", "wrong", right=False)
        lockout.note(f"address {number} right", "key", right=True)
    assert len(lockout._wrong) == len(lockout._right) == MOST_ADDRESSES
