"""`periplus optimize` wired up: who runs a suite, where what was learned is kept, and how it is told."""
