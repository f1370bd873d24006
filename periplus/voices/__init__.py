"""Voices of demos: espeak-ng, speech endpoints, and engines of other packages (entry points `periplus.voices`)."""
