from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_server.security.bearer_tokens import (
    PREFIX,
    FileTokenVerifier,
    TokenFile,
    TokenSetupError,
    add_implied_scopes,
    mint_token,
    token_from_environment,
)

NOW = datetime(2026, 11, 22, tzinfo=UTC)


async def test_a_minted_token_is_known_and_kept_only_as_a_digest(tmp_path):
    file = TokenFile(tmp_path / "deep" / "tokens.json")
    token, entry = mint_token("ci", ["read"], now=NOW)
    file.add(entry)
    assert token.startswith(PREFIX)
    assert token not in file.path.read_text()
    assert token.removeprefix(PREFIX) not in file.path.read_text()
    assert file.path.stat().st_mode & 0o777 == 0o600
    found = await FileTokenVerifier(file=TokenFile(file.path)).verify_token(token)
    assert found is not None
    assert (found.client_id, found.scopes) == ("ci", ["read"])
    assert token not in found.model_dump_json()


async def test_a_revoked_token_is_nobody_s_from_then_on(tmp_path):
    file = TokenFile(tmp_path / "tokens.json")
    verifier = FileTokenVerifier(file=file)
    token, entry = mint_token("ci", ["write"])
    TokenFile(file.path).add(entry)  # by another process
    assert (await verifier.verify_token(token)).scopes == ["read", "write"]
    TokenFile(file.path).remove("ci")
    assert await verifier.verify_token(token) is None


async def test_a_token_is_good_until_its_time_is_over():
    token, entry = mint_token("ci", ["read"], lives=timedelta(days=1), now=NOW)
    now = NOW
    verifier = FileTokenVerifier([entry], clock=lambda: now)
    now = NOW + timedelta(hours=23)
    assert await verifier.verify_token(token) is not None
    now = NOW + timedelta(days=1)
    assert await verifier.verify_token(token) is None


@given(st.text(max_size=100))
async def test_nothing_else_is_a_token(text):
    token, entry = mint_token("ci", ["read"], now=NOW)
    verifier = FileTokenVerifier([entry])
    for offered in (
        text,
        token + text[:1] if text else token[:-1],
        token.removeprefix(PREFIX),
        token.swapcase(),
    ):
        assert offered == token or await verifier.verify_token(offered) is None


async def test_a_file_that_others_may_write_opens_nothing(tmp_path):
    file = TokenFile(tmp_path / "tokens.json")
    token, entry = mint_token("ci", ["read"])
    file.add(entry)
    verifier = FileTokenVerifier(file=file)
    assert await verifier.verify_token(token) is not None
    file.path.write_text(file.path.read_text() + "\n")
    file.path.chmod(0o666)
    assert await verifier.verify_token(token) is None
    with pytest.raises(TokenSetupError, match="chmod 600"):
        file.entries()


@pytest.mark.parametrize("content", ["", "{}x", '{"tokens": [{"name": "a"}]}', '{"tokens": 7}'])
def test_a_file_that_is_none_is_told(tmp_path, content):
    path = tmp_path / "tokens.json"
    path.write_text(content)
    path.chmod(0o600)
    with pytest.raises(TokenSetupError, match="no tokens file"):
        TokenFile(path).entries()


def test_names_are_given_once(tmp_path):
    file = TokenFile(tmp_path / "tokens.json")
    file.add(mint_token("ci", ["read"])[1])
    with pytest.raises(TokenSetupError, match="already"):
        file.add(mint_token("ci", ["write"])[1])
    with pytest.raises(TokenSetupError, match="tokens are: ci"):
        file.remove("co")


async def test_a_token_from_outside_counts_where_it_is_long_enough():
    entry = token_from_environment("CONTAINER", "x" * 32, ["write"])
    assert (await FileTokenVerifier([entry]).verify_token("x" * 32)).scopes == ["read", "write"]
    with pytest.raises(TokenSetupError, match="at least 32") as refused:
        token_from_environment("CONTAINER", "hunter2", ["read"])
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    ("said", "found"),
    [([], ()), (["read"], ("read",)), (["write"], ("read", "write")), (["admin", "read"], ("read",))],
)
def test_who_may_write_may_read_and_other_scopes_are_not_ours(said, found):
    assert add_implied_scopes(said) == found
