"""Every command of docs/schedules.md works as it stands there, and its receiver accepts our messages."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from kb_store import load_knowledge, open_stores
from loaders import read_knowledge_folder
from periplus.jobs.webhook_delivery import RETRIES_S, WebhookSender, sign
from periplus.service.service_settings import ServeSettings
from tests.periplus.service.service_support import KEY, served

PAGE = (Path(__file__).resolve().parents[3] / "docs/schedules.md").read_text(encoding="utf-8")
SHOP = {"type": "website", "website_id": "shop", "name": "Shop", "base_url": "https://shop.example.com"}
TASK = {
    "type": "task", "task_id": "add_product", "website_id": "shop",
    "io_spec": {"inputs": [{"name": "name", "source": "user_input"}]},
    "steps": [{"step_id": "open", "action": {"action_type": "navigate", "url": "/"}}],
}  # fmt: skip


async def test_the_commands_of_the_page_run_one_after_another(tmp_path):
    (tmp_path / "kb").mkdir()
    (tmp_path / "kb" / "website.json").write_text(json.dumps(SHOP))
    (tmp_path / "kb" / "task.json").write_text(json.dumps(TASK))
    async with open_stores(tmp_path) as stores:
        await load_knowledge(stores.documents, stores.graph, read_knowledge_folder(tmp_path / "kb")[0])
    blocks = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 5
    async with served(tmp_path) as service:
        said = []
        for block in blocks:
            shell = await asyncio.create_subprocess_exec(
                "bash", "-euc", block.replace("http://127.0.0.1:8000", service.url),
                env={**os.environ, "PERIPLUS_API_KEY": KEY}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )  # fmt: skip
            out, err = await shell.communicate()
            assert shell.returncode == 0, block + out.decode() + err.decode()
            said.append(json.loads(out))
    made, jobs, read, schedules, webhooks = said
    assert made["cron"] == "0 6 * * 1-5"
    assert jobs == {"jobs": []}
    assert (read["meaning"], read["order"]["values"]) == ("task", {"name": "Lamp"})
    assert [each["schedule_id"] for each in schedules["schedules"]] == [made["schedule_id"]]
    assert webhooks == {"webhooks": []}


async def test_the_receiver_of_the_page_accepts_our_messages_and_no_others():
    (block,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    names: dict = {}
    exec(block, names)

    class Runs:
        service_records = None

    sender = WebhookSender(Runs(), b"key", set())
    headers = sign(sender._secret("hook"), "message-1", datetime.now(UTC), b"{}")
    assert names["is_ours"](sender.secret_of("hook"), headers, b"{}")
    assert not names["is_ours"](sender.secret_of("hook"), headers, b"{} ")
    assert not names["is_ours"](sender.secret_of("other"), headers, b"{}")


def test_the_settings_and_the_times_of_retries_on_the_page_are_those_of_the_code():
    named = {each.lower() for each in re.findall(r"`PERIPLUS_([A-Z_]+)`", PAGE)}
    assert named == {"serve_jobs", "serve_maps", "serve_webhooks"} <= ServeSettings.model_fields.keys()
    assert "5 s, 1 min, 5 min, 30 min, 2 h and 6 h" in PAGE
    assert RETRIES_S == (5, 60, 300, 1_800, 7_200, 21_600)
