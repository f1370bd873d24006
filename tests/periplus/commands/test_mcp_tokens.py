from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from mcp_server.security.bearer_tokens import FileTokenVerifier, TokenFile
from mcp_server.security.call_limits import CallLimits
from mcp_server.security.http_app import TokenVerifierChain
from mcp_server.security.oauth_tokens import OAuthTokenVerifier
from periplus.commands.mcp import app
from periplus.errors import UserError
from periplus.mcp_settings import load_mcp_settings


@pytest.fixture(autouse=True)
def data_dir(tmp_path, monkeypatch):
    monkeypatch.setenv("PERIPLUS_DATA_DIR", str(tmp_path))
    return tmp_path


def run(*arguments: str):
    return CliRunner().invoke(app, ["token", *arguments])


async def test_a_new_token_is_told_once_and_opens_what_it_may(data_dir):
    told = run("new", "--scope", "write", "--name", "ci", "--days", "9")
    assert told.exit_code == 0
    token = told.stdout.strip()
    file = data_dir / "mcp-tokens.json"
    assert token not in file.read_text()
    found = await FileTokenVerifier(file=TokenFile(file)).verify_token(token)
    assert (found.client_id, found.scopes) == ("ci", ["read", "write"])
    listed = run("list").stdout
    assert "ci" in listed
    assert token not in listed


def test_tokens_without_a_name_get_one_each(data_dir):
    for _ in range(3):
        assert run("new").exit_code == 0
    kept = json.loads((data_dir / "mcp-tokens.json").read_text())
    assert [entry["name"] for entry in kept["tokens"]] == ["read-1", "read-2", "read-3"]


def test_a_revoked_token_is_gone_and_the_rest_stays(tmp_path):
    file = str(tmp_path / "others.json")
    for name in ("a", "b"):
        run("new", "--name", name, "--file", file)
    assert run("revoke", "a", "--file", file).exit_code == 0
    assert [entry.name for entry in TokenFile(tmp_path / "others.json").entries()] == ["b"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["new", "--name", "a b"], "not a valid token name"),
        (["revoke", "nobody"], "no token 'nobody'"),
    ],
)
def test_what_cannot_be_done_is_told(arguments, said):
    told = run(*arguments)
    assert isinstance(told.exception, UserError)
    assert said in str(told.exception)


def test_without_tokens_the_door_asks_for_none_and_with_them_it_does(data_dir, monkeypatch):
    assert load_mcp_settings().access_policy("127.0.0.1").verifier is None
    run("new")
    policy = load_mcp_settings().access_policy("0.0.0.0")
    assert isinstance(policy.verifier, TokenVerifierChain)
    assert {"localhost", "127.0.0.1", "::1"} <= policy.hosts


def test_settings_of_the_environment_become_door_and_limits(monkeypatch):
    settings = {
        "ISSUER": "https://login.example",
        "PUBLIC_URL": "https://kb.example/mcp",
        "ALLOWED_HOSTS": "Inner.example, other.example",
        "ALLOWED_ORIGINS": "https://app.example",
        "BURST": "7",
        "CALL_SECONDS": "2.5",
    }
    for name, value in settings.items():
        monkeypatch.setenv(f"PERIPLUS_MCP_{name}", value)
    loaded = load_mcp_settings()
    policy = loaded.access_policy("127.0.0.1")
    assert policy.hosts >= {"kb.example", "inner.example", "other.example", "localhost"}
    assert policy.origins == {"https://app.example", "https://kb.example"}
    assert policy.rate.burst == 7
    assert policy.resource.url == "https://kb.example/mcp"
    assert [type(each) for each in policy.verifier._verifiers] == [OAuthTokenVerifier]
    assert loaded.call_limits == CallLimits(call_seconds=2.5)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("ISSUER", "http://login.example", "https://"),
        ("ISSUER", "https://login.example", "PERIPLUS_MCP_PUBLIC_URL"),
        ("TOKEN", "hunter2", "at least 32"),
        ("BURST", "0", "PERIPLUS_MCP_BURST"),
        ("RATE_PER_SECOND", "many", "PERIPLUS_MCP_RATE_PER_SECOND"),
    ],
)
def test_a_setting_that_is_wrong_is_named_and_its_value_kept_quiet(monkeypatch, name, value, said):
    monkeypatch.setenv(f"PERIPLUS_MCP_{name}", value)
    with pytest.raises(UserError, match=said) as refused:
        load_mcp_settings().access_policy("127.0.0.1")
    assert "hunter2" not in str(refused.value)
