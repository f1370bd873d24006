"""Runs demos: the environment they share, live presentations, films, and rehearsals."""
