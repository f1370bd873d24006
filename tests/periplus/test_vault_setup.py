"""Secrets that are read are named in the audit log, never quoted."""

from __future__ import annotations

import pytest

from kb_store.audit.audit_log import AuditLog
from kb_store.audit.audit_recorder import use_audit_log
from periplus.vault_setup import open_vault


@pytest.fixture
def log(tmp_path, monkeypatch):
    monkeypatch.setenv("PERIPLUS_SECRET_PASSWORD", "open-sesame")
    found = AuditLog(tmp_path / "audit")
    use_audit_log(found)
    yield found
    use_audit_log(None)


async def test_a_secret_that_is_read_is_named_once_without_its_value(log):
    vault = open_vault("shop")
    for _ in range(2):
        assert await vault.secret("password") == ("open-sesame", "environment")
    assert await vault.secret("other") is None
    (entry,) = log.entries()
    assert (entry.action, entry.about.text, entry.website.text) == (
        "secret_used",
        "password (environment)",
        "shop",
    )
    assert "open-sesame" not in (log.folder / "audit.jsonl").read_text()


async def test_asking_whether_there_is_a_secret_is_no_use_of_it(log):
    assert await open_vault("shop", audited=False).secret("password") is not None
    assert list(log.entries()) == []
