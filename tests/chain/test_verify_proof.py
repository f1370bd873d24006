"""`periplus verify` runs each generated test once before the verdict, where that changes nothing."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.agent.verification.generation.plain_pytest import run
from tests.support import warm
from tests.support.foreign_sites import plain_python

PAGE = """<!doctype html><title>Shop</title><h1>Shop</h1><button onclick="said.textContent = 'Hello'">Greet</button>
<button onclick="fetch('/order', {method: 'POST'}).then(() => said.textContent = 'Ordered')">Order</button>
<p role=status id=said></p>"""
READS = "# reads: Read\nURL: /\n\nGreet | click | | message:Hello\n"
SENDS = "# sends: Send\nURL: /\n\nOrder | click | | message:Ordered\n"


class Shop:
    """A page that counts its orders. `limit`: after so many visits it says nothing."""

    def __init__(self) -> None:
        self.orders, self.visits, self.limit = 0, 0, 1_000
        shop = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                shop.visits += self.path == "/"
                broken = shop.visits > shop.limit
                self._answer(PAGE.replace("'Hello'", "''") if broken else PAGE)

            def do_POST(self) -> None:
                shop.orders += 1
                self._answer("done")

            def _answer(self, text: str) -> None:
                body = text.encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Nobody reads it."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.base = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def shop():
    opened = Shop()
    yield opened
    opened.server.shutdown()
    opened.server.server_close()


def verify(cwd, base, text, *more):
    (cwd / "r.txt").write_text(text)
    done = warm.run("periplus", "verify", "r.txt", "--base-url", base, "--out", "o", "--json", *more, cwd=cwd,
                    env={"COLUMNS": "200"}, timeout=150)  # fmt: skip
    reports = json.loads(done.stdout)["requirements"] if done.stdout else []
    return done, {each["req_id"]: each for each in reports}


@pytest.mark.timeout(300)
def test_what_sends_no_data_is_proved_and_the_rest_is_not(shop, tmp_path):
    done, reports = verify(tmp_path, shop.base, READS + "\n" + SENDS)
    assert done.returncode == 0, done.stderr
    assert reports["reads"]["proof"] == {"status": "proved", "reason": ""}
    assert shop.orders == 2, "found once and executed once: the test did not run"
    proof = reports["sends"]["proof"]
    assert (proof["status"], reports["sends"]["verdict"]) == ("not_proved", "pass")
    assert "step 1 (Order) sends data" in proof["reason"]
    assert "reads: running the generated test" in done.stderr
    assert "sends: its test is not proved" not in done.stdout
    junit = (tmp_path / "o" / "junit.xml").read_text()
    assert 'name="test_proof" value="not_proved"' in junit
    assert "(not proved: step 1 (Order) sends data" in (tmp_path / "o" / "report.html").read_text()


@pytest.mark.timeout(300)
def test_a_red_test_is_no_pass(shop, tmp_path):
    shop.limit = 2
    done, reports = verify(tmp_path, shop.base, READS)
    assert done.returncode == 1, done.stderr
    report = reports["reads"]
    assert (report["verdict"], report["proof"]["status"]) == ("partial", "failed")
    assert report["rca"]["class"] == "assertion_mismatch"
    assert "the generated test is red in plain pytest" in report["rca"]["message"]
    assert report["rca"]["evidence"] == [report["proof"]["reason"]]
    assert "Locator expected to be visible" in report["proof"]["reason"]


@pytest.mark.timeout(300)
def test_all_are_proved_on_demand_or_after_a_reset_and_none_if_that_is_wanted(shop, tmp_path):
    done, reports = verify(tmp_path, shop.base, SENDS, "--prove")
    assert (done.returncode, reports["sends"]["proof"]["status"]) == (0, "proved"), done.stderr
    assert shop.orders == 3
    (tmp_path / "reset.sh").write_text("#!/bin/sh\necho again >> resets\n")
    reset = ("--reset", "sh reset.sh", "--workers", "1")
    done, reports = verify(tmp_path, shop.base, SENDS, *reset)
    assert (done.returncode, reports["sends"]["proof"]["status"]) == (0, "proved"), done.stderr
    assert "sends: running the generated test" in done.stdout + done.stderr
    assert (tmp_path / "resets").read_text() == "again\n"
    (tmp_path / "reset.sh").write_text("echo no such database; exit 3\n")
    done, reports = verify(tmp_path, shop.base, SENDS, *reset)
    assert reports["sends"]["proof"]["reason"] == "the reset command failed: exit code 3 no such database"
    orders = shop.orders
    done, reports = verify(tmp_path, shop.base, SENDS, "--no-prove")
    assert (done.returncode, reports["sends"]["proof"]["reason"]) == (0, "proving was not asked for")
    assert shop.orders == orders + 1, "executed with the plan that passed before, and not proved"
    assert "running the generated test" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--reset", "./reset.sh"], "--reset puts the site back while other requirements use it"),
        (["--reset", "./reset.sh", "--workers", "1", "--no-prove"], "--reset is for proving tests"),
        (["--reset", "'", "--workers", "1"], "--reset: No closing quotation"),
        (["--prove", "--no-tests"], "--prove needs tests"),
    ],
)
def test_options_that_contradict_each_other_are_refused(shop, tmp_path, options, told):
    done, _ = verify(tmp_path, shop.base, READS, *options)
    assert done.returncode == 2
    assert told in done.stderr
    assert shop.visits == 0


@pytest.mark.timeout(300)
def test_a_requirement_that_fails_has_a_test_that_is_red_for_the_same_reason(shop, tmp_path, chromium_path):
    wrong = READS.replace("message:Hello", "heading:Shop; message:Bye")
    lost = "# lost: Lost\nURL: /\n\nGreat | click | | message:Hello\n"
    away = "# away: Away\nURL: /\n\nGreet | click | | message:Hello; navigates_to:Elsewhere\n"
    done, reports = verify(tmp_path, shop.base, f"{wrong}\n{lost}\n{away}")
    assert done.returncode == 1, done.stderr
    report = reports["reads"]
    assert (report["verdict"], report["proof"]) == ("fail", None)
    test = tmp_path / "o" / report["artifacts"]["test_file"]
    ran = run(plain_python(), test.parent, shop.base, chromium_path, "--tb=short", test.name, secrets={})
    assert "1 failed" in ran.stdout, ran.stdout
    assert "Locator expected to be visible" in ran.stdout
    assert 'message(page, "Bye")' in ran.stdout
    assert reports["lost"]["artifacts"] == {}
    assert reports["lost"]["notes"] == ["no test: step 1 (Great) was not found on the page"]
    assert reports["away"]["verdict"] == "fail"
    assert not any("was not found" in each for each in reports["away"]["notes"]), reports["away"]["notes"]
