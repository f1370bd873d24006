"""Stores clips on disk: the film of one segment, its speech, and its dependencies."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

from pydantic import BaseModel, ConfigDict, ValidationError

from agent.media.screen_recorder import ScreenRecording
from agent.media.voice import Speech, SpokenWord
from agent.presentation.narration.narrator import SpokenUtterance
from kb_schema.owner_folders import make_owner_folder

KEPT = 4
"""Number of clips kept per segment, newest first: for languages, speeds, and sites that change back and
forth.
"""
_FILM, _RECORD = "clip.mp4", "clip.json"


class ClipUtterance(BaseModel):
    """An utterance of a clip, in seconds of the clip."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    text: str
    start_s: float
    duration_s: float
    speech_s: float
    words: tuple[tuple[str, float], ...] = ()
    wav: str | None = None
    """Name of its audio file, beside the clip."""


class ClipRecord(BaseModel):
    """Metadata of a clip."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    segment_id: str
    frames: int
    fps: int
    size: tuple[int, int]
    speech: tuple[ClipUtterance, ...] = ()
    needs: Mapping[str, str] = {}
    """Documents it depends on: `kind/id` -> hash."""
    ends_as: str = ""
    """Fingerprint of the page at its end (`page_appearance.measure_appearance`)."""


@dataclass(frozen=True, slots=True)
class Clip:
    """A clip on disk."""

    folder: Path
    record: ClipRecord

    @property
    def recording(self) -> ScreenRecording:
        """Path of its video."""
        kept = self.record
        return ScreenRecording(self.folder / _FILM, kept.frames, kept.frames / kept.fps, kept.size, kept.fps)

    def spoken(self, start_s: float) -> list[SpokenUtterance]:
        """Return its utterances, for a clip that starts at this second of the film."""
        return [
            SpokenUtterance(
                each.text,
                start_s + each.start_s,
                each.duration_s,
                Speech(
                    each.text,
                    each.speech_s,
                    tuple(SpokenWord(text, at) for text, at in each.words),
                    self.folder / each.wav if each.wav else None,
                ),
            )
            for each in self.record.speech
        ]


class ClipStore:
    """The clips of one flow, in folders by segment and key."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, segment_id: str, key: str) -> Clip | None:
        """Return the clip with that key; None if there is no complete one."""
        folder = self._folder / segment_id / key
        try:
            record = ClipRecord.model_validate_json((folder / _RECORD).read_bytes())
        except (OSError, ValidationError):
            return None
        files = [_FILM, *(each.wav for each in record.speech if each.wav)]
        if not all((folder / name).is_file() for name in files):
            return None
        folder.touch()  # only the newest ones are kept
        return Clip(folder, record)

    def keep(
        self,
        segment_id: str,
        key: str,
        recording: ScreenRecording,
        speech: Sequence[SpokenUtterance],
        **known: object,
    ) -> Clip:
        """Store a clip and delete the oldest ones. `speech` is in seconds of the clip, `known` as in
        `ClipRecord`. Raises `OSError`.
        """
        of_segment = self._folder / segment_id
        make_owner_folder(of_segment)
        part = Path(mkdtemp(dir=of_segment, prefix=".part-"))
        try:
            shutil.copyfile(recording.path, part / _FILM)
            record = ClipRecord.model_validate(
                {
                    "segment_id": segment_id,
                    "frames": recording.frames,
                    "fps": recording.fps,
                    "size": recording.size,
                    "speech": tuple(_store_utterance(each, n, part) for n, each in enumerate(speech)),
                    **known,
                }
            )
            (part / _RECORD).write_text(record.model_dump_json(indent=1), encoding="utf-8")
            self.drop(segment_id, key)
            part.rename(of_segment / key)
        except OSError:
            shutil.rmtree(part, ignore_errors=True)
            raise
        self._delete_oldest(of_segment)
        return Clip(of_segment / key, record)

    def drop(self, segment_id: str, key: str) -> None:
        """Delete a clip if it exists."""
        shutil.rmtree(self._folder / segment_id / key, ignore_errors=True)

    @staticmethod
    def _delete_oldest(of_segment: Path) -> None:
        kept = [each for each in of_segment.iterdir() if not each.name.startswith(".")]
        for folder in sorted(kept, key=lambda each: each.stat().st_mtime, reverse=True)[KEPT:]:
            shutil.rmtree(folder, ignore_errors=True)


def _store_utterance(spoken: SpokenUtterance, number: int, folder: Path) -> ClipUtterance:
    wav = None
    if spoken.speech.wav is not None:
        wav = f"{number}.wav"
        shutil.copyfile(spoken.speech.wav, folder / wav)
    return ClipUtterance(
        text=spoken.text,
        start_s=spoken.start_s,
        duration_s=spoken.duration_s,
        speech_s=spoken.speech.duration_s,
        words=tuple((word.text, word.start_s) for word in spoken.speech.words),
        wav=wav,
    )
