"""A folder's record misses no change: whatever is done to the files, what differs by content is found, and nothing else is read."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from loaders.files import folder_record
from loaders.files.folder_record import FolderRecord, FolderRecords, list_file_states
from loaders.files.yaml_files import digest_of

STEPS = 40
"""Looks at the folder in one test, each after up to four edits."""
ALL = 10_000

Clock = Callable[[], int]


def _write(clock: Clock, file: Path, content: bytes) -> None:
    """Write a file with a time of its own: within one tick of the file system's clock, two writes have the same time."""
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(content)
    moment = clock()
    os.utime(file, ns=(moment, moment))


def _files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.yaml"))


def _edit(chance: random.Random, clock: Clock, folder: Path) -> None:
    """Do one thing that people, editors and git do to files."""
    file = chance.choice(_files(folder))
    other = chance.choice(_files(folder))
    fresh = folder / chance.choice("ab") / f"{chance.randrange(40)}.yaml"
    content = b"%d" % chance.randrange(100, 1_000)  # of one length
    match chance.randrange(9):
        case 0:
            _write(clock, file, content)
        case 1:
            _write(clock, file, file.read_bytes())
        case 2:  # an editor that saves to another file, and renames it
            _write(clock, file.with_suffix(".new"), content)
            file.with_suffix(".new").replace(file)
        case 3:
            _write(clock, fresh, content)
        case 4 if len(_files(folder)) > 3:
            file.unlink()
        case 5:
            file.replace(fresh)
        case 6:  # two files exchange their names, with their times
            file.rename(folder / "held")
            if other.exists():
                other.rename(file)
            (folder / "held").rename(other)
        case 7:  # another content of the same length, with the times of the one before
            before = file.stat()
            while file.stat().st_ctime_ns == before.st_ctime_ns:  # until the clock of the file system ticks
                file.write_bytes(content)
            os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        case _:
            os.utime(file, ns=(clock(), clock()))


def _now(folder: Path) -> dict[str, str]:
    return {file.relative_to(folder).as_posix(): digest_of(file.read_bytes()) for file in _files(folder)}


@pytest.mark.parametrize("unsure", [0.0, 3_600.0], ids=["by states", "by contents"])
@pytest.mark.parametrize("seed", range(4))
def test_what_differs_from_the_record_is_found_after_any_edits(tmp_path, monkeypatch, unsure, seed):
    monkeypatch.setattr(folder_record, "UNSURE_SECONDS", unsure)
    chance, moments = random.Random(seed), count(1_700_000_000_000_000_000, 1_000_003)
    folder, records = tmp_path / "kb", FolderRecords(tmp_path / "loads", tmp_path / "kb", "a store")
    folder.mkdir()
    for number in range(12):
        _write(moments.__next__, folder / chance.choice("ab") / f"{number}.yaml", b"%03d" % number)
    then: dict[str, str] = {}
    records.keep(FolderRecord("shop", "0", ()))
    for step in range(STEPS):
        states = list_file_states(folder)
        record = records.find()
        assert record is not None
        read, gone = record.changed(folder, states, ALL)
        now = _now(folder)
        assert (read, gone) == (
            sorted(name for name, digest in now.items() if then.get(name) != digest),
            sorted(then.keys() - now.keys()),
        )
        had = {("file", f"{name}-{then[name]}") for name in (*read, *gone) if name in then}
        assert record.keys_of(states, (*read, *gone)) == had
        keys = {name: [f"file/{name}-{now[name]}"] for name in read}
        records.keep(record.after(states, keys, now, str(step)))
        then = now
        for _ in range(chance.randrange(5)):
            _edit(chance, moments.__next__, folder)
