"""Secrets from the environment, a file, a folder and a keyring; what is open to others is refused."""

from __future__ import annotations

import json

import keyring
import keyring.backend
import keyring.errors
import pytest

from agent.errors import PersonNeeded
from agent.execution.values.secret_vaults import EnvironmentVault, FileVault, KeyringVault, VaultChain
from periplus.errors import UserError
from periplus.vault_setup import open_vault

HARD = 'O\'Brien "Bob": {x} #ünï'


def _file(path, text, mode=0o600):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    return path


async def test_a_websites_own_secret_goes_before_that_of_any():
    environ = {
        "PERIPLUS_SECRET_PIN": "any",
        "PERIPLUS_SECRET_MY_SITE_PIN": "own",
        "PERIPLUS_SECRET_EMPTY": "",
    }
    assert await EnvironmentVault("my-site", environ).secret("pin") == ("own", "environment")
    assert await EnvironmentVault("other", environ).secret("pin") == ("any", "environment")
    assert await EnvironmentVault("other", environ).secret("empty") is None


async def test_a_file_gives_every_secret_as_a_text_whatever_it_looks_like(tmp_path):
    known = {"pin": "0123", "site": {"password": HARD, "pin": "4"}}
    for path in (
        _file(tmp_path / "s.json", json.dumps(known)),
        _file(tmp_path / "s.yaml", f"pin: 0123\nsite:\n  password: {json.dumps(HARD)}\n  pin: 4\n"),
    ):
        assert await FileVault(path, "site").secret("password") == (HARD, "file")
        assert await FileVault(path, "site").secret("pin") == ("4", "file")
        assert await FileVault(path, "other").secret("pin") == ("0123", "file")
        assert await FileVault(path, "other").secret("site") is None


async def test_a_folder_has_one_file_for_each_secret(tmp_path):
    _file(tmp_path / "password", "any\n")
    _file(tmp_path / "site" / "password", f"{HARD}\n", 0o440)
    assert await FileVault(tmp_path, "site").secret("password") == (HARD, "file")
    assert await FileVault(tmp_path, "other").secret("password") == ("any", "file")
    assert await FileVault(tmp_path, "other").secret("pin") is None


@pytest.mark.parametrize("mode", [0o644, 0o604, 0o660, 0o602])
async def test_a_secret_that_is_open_to_others_is_refused_with_what_to_do(tmp_path, mode, monkeypatch):
    path = _file(tmp_path / "s.yaml", "password: hunter2", mode)
    with pytest.raises(PersonNeeded, match="can be read or changed by other users") as caught:
        FileVault(path, "site")
    assert caught.value.hint == f"chmod 600 {path}"
    assert "hunter2" not in str(caught.value)
    monkeypatch.setenv("PERIPLUS_SECRETS_FILE", str(path))
    with pytest.raises(UserError, match="can be read or changed by other users"):
        open_vault("site")
    folder = _file(tmp_path / "folder" / "password", "hunter2", mode).parent
    with pytest.raises(PersonNeeded, match="can be read or changed by other users"):
        await FileVault(folder, "site").secret("password")


@pytest.mark.parametrize("text", ["{hunter2", "- hunter2", "hunter2: [", "\t hunter2"])
def test_a_file_that_is_none_is_refused_without_a_word_of_it(tmp_path, text):
    with pytest.raises(PersonNeeded, match="secrets file") as caught:
        FileVault(_file(tmp_path / "s.yaml", text), "site")
    error: BaseException | None = caught.value
    while error is not None:
        assert "hunter2" not in repr(error)
        error = error.__cause__


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(PersonNeeded, match="cannot be read"):
        FileVault(tmp_path / "none.yaml", "site")


class Ring(keyring.backend.KeyringBackend):
    """A keyring in memory."""

    priority = 1

    def __init__(self, known=None, error=None):
        self.known, self.error = known or {}, error

    def get_password(self, service, username):
        if self.error is not None:
            raise self.error
        return self.known.get((service, username))

    def set_password(self, service, username, password):
        raise NotImplementedError

    def delete_password(self, service, username):
        raise NotImplementedError


async def test_the_keyring_is_asked_last_and_one_that_is_locked_has_nothing(monkeypatch):
    monkeypatch.setattr("keyring.get_password", Ring({("periplus:site", "pin"): "own"}).get_password)
    assert await KeyringVault("site").secret("pin") == ("own", "keyring")
    assert await KeyringVault("other").secret("pin") is None
    both = VaultChain([EnvironmentVault("site", {"PERIPLUS_SECRET_PIN": "env"}), KeyringVault("site")])
    assert await both.secret("pin") == ("env", "environment")
    locked = Ring(error=keyring.errors.KeyringLocked("no")).get_password
    monkeypatch.setattr("keyring.get_password", locked)
    assert await KeyringVault("site").secret("pin") is None
