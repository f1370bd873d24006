"""What the commands refuse of `--workers`, before anything is started."""

from __future__ import annotations

import pytest

from periplus.cli import main


@pytest.fixture
def periplus(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PERIPLUS_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("COLUMNS", "400")
    (tmp_path / "names.csv").write_text("agent_name\nAda\n")
    (tmp_path / "one.csv").write_text("Req ID,URL,Element,Action,Value\nsign_in,/login,Email,fill,me\n")

    def run(*args):
        with pytest.raises(SystemExit) as ended:
            main([*args])
        return ended.value.code, capsys.readouterr().err

    return run


FAR = "tcp://10.0.0.5:8786"


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["collect", "t", "--inputs", "names.csv", "--workers", "many"], "a scheduler's address"),
        (["collect", "t", "--inputs", "names.csv", "--workers", FAR], "cannot reach the embedded store"),
        (["collect", "t", "--inputs", "nowhere.csv"], "nowhere.csv does not exist"),
        (["collect"], "the task is missing"),
        (["collect", "t", "--resume", "out"], "--resume takes task, file and folder"),
        (["collect", "--resume", "."], "contains no collection"),
        (["collect", "t", "--inputs", "names.csv"], "the store is empty"),
        (["verify", "one.csv", "--base-url", "http://127.0.0.1:9", "--workers", "0"], "a scheduler's address"),
        (["verify", "one.csv", "--base-url", "http://127.0.0.1:9", "--workers", FAR], "embedded store"),
        (["verify", "one.csv", "--seed", "spadeworks", "--workers", FAR], "a site that is started on this machine"),
        (["verify", "one.csv", "--seed", "spadeworks", "--workers", "processes:2", "--headed"], "run without a window"),
        (["verify", "one.csv", "--seed", "spadeworks", "--workers", "processes:2", "--run-tests"], "remove --run-tests"),
        (["demo", "--workers", "2"], "--workers needs --rehearse"),
        (["demo", "--rehearse", "--workers", FAR], "cannot reach the embedded store"),
    ],
)  # fmt: skip
def test_what_workers_cannot_do_is_told_first_with_what_to_do(periplus, args, told):
    code, err = periplus(*args)
    assert (code, told in " ".join(err.split())) == (2, True), err
