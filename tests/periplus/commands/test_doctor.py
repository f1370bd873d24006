"""`periplus doctor` says "works" only of what was seen to work, and what to do for the rest."""

from __future__ import annotations

import json

from periplus import installation_checks
from tests.support import warm
from tests.support.model_server import Answer, serve_model


def by_name(done):
    return {(each["kind"], each["name"]): each for each in json.loads(done.stdout)}


def test_what_works_is_tried_and_a_model_is_asked_at_its_price(tmp_path):
    with serve_model([Answer("works")]) as server:
        env = {"PERIPLUS_MODEL": server.openai, "PERIPLUS_MODEL_TALK": "none"}
        done = warm.run("periplus", "doctor", "--json", cwd=tmp_path, env=env, timeout=110)
        assert len(server.requests) == 1
    assert done.returncode == 0, done.stdout + done.stderr
    found = by_name(done)
    for part in (("browser", "Chromium"), ("store", "documents"), ("server", "MCP"), ("extra", "verify")):
        assert found[part]["state"] == "works", found[part]
    model = found["model", server.openai]
    assert (model["state"], "for plan, judge, narrate; it answered (1 model call" in model["found"]) == (
        "works",
        True,
    )


def test_what_is_configured_and_does_not_work_is_named_with_what_to_do(tmp_path):
    env = {
        "PERIPLUS_MODEL": "openai:x@http://127.0.0.1:9/v1",
        "PERIPLUS_MODEL_JUDGE": "nobody:x",
        "PERIPLUS_CHROMIUM": "/no/such/chromium",
        "PERIPLUS_LIVEKIT_URL": "ws://127.0.0.1:9",
        "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9",
        "OTEL_SDK_DISABLED": "",
    }
    done = warm.run("periplus", "doctor", "--json", cwd=tmp_path, env=env, timeout=110)
    assert done.returncode == 1, done.stdout + done.stderr
    found = by_name(done)
    broken = {part for part, each in found.items() if each["state"] == "broken"}
    assert broken >= {
        ("browser", "Chromium"),
        ("model", "openai:x@http://127.0.0.1:9/v1"),
        ("model", "nobody:x"),
        ("server", "LiveKit"),
        ("server", "OpenTelemetry"),
    }
    assert all(each["fix"] for each in found.values() if each["state"] != "works")


async def test_an_extra_whose_module_cannot_be_imported_is_broken_and_one_without_its_module_is_missing(
    tmp_path, monkeypatch
):
    (tmp_path / "doctor_broken_module.py").write_text("raise RuntimeError('built for another system')")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    extras = {"one": ("doctor_broken_module",), "two": ("doctor_no_such_module",), "three": ("json",)}
    monkeypatch.setattr(installation_checks, "EXTRAS", extras)
    one, two, three = await installation_checks._check_extras()
    assert (one.state, two.state, three.state) == ("broken", "missing", "works")
    assert "built for another system" in one.found
    assert two.fix == "pip install 'periplus[two]'"
