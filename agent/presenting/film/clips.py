"""Clips on disk: the film of one segment with what was said in it, and what it depends on."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

from pydantic import BaseModel, ConfigDict, ValidationError

from agent.media.recorder import Recording
from agent.media.voice import Speech, Word
from agent.presenting.narrator import Spoken

KEPT = 4
"""Clips of one segment that are kept, the newest: of languages, speeds, and a site that goes back and forth."""
_FILM, _RECORD = "clip.mp4", "clip.json"


class KeptSpeech(BaseModel):
    """An utterance of a clip; seconds of the clip."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    text: str
    start_s: float
    duration_s: float
    speech_s: float
    words: tuple[tuple[str, float], ...] = ()
    wav: str | None = None
    """Its file, beside the clip."""


class ClipRecord(BaseModel):
    """What is known of a clip besides its pictures."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    segment_id: str
    frames: int
    fps: int
    size: tuple[int, int]
    speech: tuple[KeptSpeech, ...] = ()
    needs: Mapping[str, str] = {}
    """Knowledge that was read for it: `kind/id` -> what it said, as a hash."""
    ends_as: str = ""
    """How the page looked at its end (`looks.look_of`)."""


@dataclass(frozen=True, slots=True)
class Clip:
    """One on disk."""

    folder: Path
    record: ClipRecord

    @property
    def recording(self) -> Recording:
        """Its pictures."""
        kept = self.record
        return Recording(self.folder / _FILM, kept.frames, kept.frames / kept.fps, kept.size, kept.fps)

    def spoken(self, start_s: float) -> list[Spoken]:
        """What is said in it, where it begins at this second of the film."""
        return [
            Spoken(
                each.text,
                start_s + each.start_s,
                each.duration_s,
                Speech(
                    each.text,
                    each.speech_s,
                    tuple(Word(text, at) for text, at in each.words),
                    self.folder / each.wav if each.wav else None,
                ),
            )
            for each in self.record.speech
        ]


class ClipShelf:
    """The clips of one flow, in folders by segment and key."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, segment_id: str, key: str) -> Clip | None:
        """The clip of that key; None where there is none that is whole."""
        folder = self._folder / segment_id / key
        try:
            record = ClipRecord.model_validate_json((folder / _RECORD).read_bytes())
        except (OSError, ValidationError):
            return None
        files = [_FILM, *(each.wav for each in record.speech if each.wav)]
        if not all((folder / name).is_file() for name in files):
            return None
        folder.touch()  # the newest are kept
        return Clip(folder, record)

    def keep(
        self, segment_id: str, key: str, recording: Recording, speech: Sequence[Spoken], **known: object
    ) -> Clip:
        """Put one there, and let the oldest go. `speech` in seconds of the clip, `known` as in
        `ClipRecord`. Raises `OSError`.
        """
        of_segment = self._folder / segment_id
        of_segment.mkdir(parents=True, exist_ok=True)
        part = Path(mkdtemp(dir=of_segment, prefix=".part-"))
        try:
            shutil.copyfile(recording.path, part / _FILM)
            record = ClipRecord.model_validate(
                {
                    "segment_id": segment_id,
                    "frames": recording.frames,
                    "fps": recording.fps,
                    "size": recording.size,
                    "speech": tuple(_kept(each, n, part) for n, each in enumerate(speech)),
                    **known,
                }
            )
            (part / _RECORD).write_text(record.model_dump_json(indent=1), encoding="utf-8")
            self.drop(segment_id, key)
            part.rename(of_segment / key)
        except OSError:
            shutil.rmtree(part, ignore_errors=True)
            raise
        self._let_go(of_segment)
        return Clip(of_segment / key, record)

    def drop(self, segment_id: str, key: str) -> None:
        """Take one away, where it is there."""
        shutil.rmtree(self._folder / segment_id / key, ignore_errors=True)

    @staticmethod
    def _let_go(of_segment: Path) -> None:
        kept = [each for each in of_segment.iterdir() if not each.name.startswith(".")]
        for folder in sorted(kept, key=lambda each: each.stat().st_mtime, reverse=True)[KEPT:]:
            shutil.rmtree(folder, ignore_errors=True)


def _kept(spoken: Spoken, number: int, folder: Path) -> KeptSpeech:
    wav = None
    if spoken.speech.wav is not None:
        wav = f"{number}.wav"
        shutil.copyfile(spoken.speech.wav, folder / wav)
    return KeptSpeech(
        text=spoken.text,
        start_s=spoken.start_s,
        duration_s=spoken.duration_s,
        speech_s=spoken.speech.duration_s,
        words=tuple((word.text, word.start_s) for word in spoken.speech.words),
        wav=wav,
    )
