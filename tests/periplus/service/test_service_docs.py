"""Every command of docs/service.md works as it stands there; every variable and code it names is one."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
from pathlib import Path

from periplus.service.service_settings import ServeSettings
from tests.periplus.service.service_support import KEY, served

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs/service.md").read_text(encoding="utf-8")


async def test_the_commands_of_the_service_run_one_after_another(tmp_path, monkeypatch):
    monkeypatch.setenv("PERIPLUS_SECRET_SHOP_PASSWORD", "open-sesame")
    blocks = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 5
    async with served(tmp_path, serve_secrets="https://shop.example.com/SHOP_PASSWORD") as service:
        said = []
        for block in blocks:
            shell = await asyncio.create_subprocess_exec(
                "bash", "-euc", block.replace("http://127.0.0.1:8000", service.url),
                env={**os.environ, "PERIPLUS_API_KEY": KEY}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )  # fmt: skip
            out, err = await shell.communicate()
            if "/accept" in block:  # this requirement passes: there is nothing to accept
                assert '"code":"not_offered"' in out.decode(), block + out.decode() + err.decode()
                continue
            assert shell.returncode == 0, block + out.decode() + err.decode()
            said.append(out.decode())
    assert json.loads(said[0])["run_id"].startswith("serve-")
    assert "event: finished" in said[1]
    assert "event: started" not in said[2]
    assert '"verdict":"pass"' in said[3]
    assert '"status":"healthy"' in said[4]


def test_every_variable_the_page_names_is_a_setting():
    named = set(re.findall(r"`PERIPLUS_([A-Z_]+)`", PAGE))
    of_all_servers = {"TRUSTED_PROXIES"}
    assert named == {name.upper() for name in ServeSettings.model_fields} | of_all_servers


def test_every_code_the_page_names_is_one_the_service_uses():
    code = "".join(path.read_text() for path in (ROOT / "periplus/service").glob("*.py"))
    table = PAGE.partition("## When it says no")[2]
    named = set(re.findall(r"`([a-z]+_[a-z_]+|unauthorized|forbidden|draining)`", table)) - {"request_id"}
    for each in named - {"run_submitted", "run_started", "run_finished", "run_id", "req_id"}:
        assert f'"{each}"' in code, each
