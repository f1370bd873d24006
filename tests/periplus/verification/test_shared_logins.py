"""Who shares a session with whom."""

from __future__ import annotations

import asyncio

from agent.verification.planning import requirement_of
from periplus.verification.shared_logins import SharedLogin, SharedLogins
from periplus.verification.verifier_settings import VerifierSettings

WANTED = requirement_of("inside", "http://127.0.0.1:9/", ["Save | click"])


async def test_two_at_once_share_no_session_and_one_after_the_other_do(monkeypatch):
    logins = SharedLogins(VerifierSettings(login="sign_in"), None, None, None)
    signed_in = []

    async def sign_in(*_args):
        signed_in.append(SharedLogin(f"session {len(signed_in)}"))
        return signed_in[-1]

    monkeypatch.setattr(logins, "_sign_in", sign_in)
    both = asyncio.Barrier(2)

    async def work():
        with logins.lane() as lane:
            mine = await logins.sign_in(WANTED, "http://127.0.0.1:9", "site", {}, lane=lane)
            await both.wait()
            return mine.by

    assert set(await asyncio.gather(work(), work())) == {"session 0", "session 1"}
    assert set(await asyncio.gather(work(), work())) == {"session 0", "session 1"}
    assert len(signed_in) == 2
