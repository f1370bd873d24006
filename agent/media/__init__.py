"""Turning a run into something to watch: screen video, spoken narration, captions, one MP4.

Nothing here knows what a demo is; `ffmpeg` and `espeak-ng` are programs that are called, never imported.
"""
