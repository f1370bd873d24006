"""Makes films of runs: screen video, speech, captions, assembled as one MP4.

The package knows nothing about demos. `ffmpeg` and `espeak-ng` are called as programs, not imported.
"""
