"""The seven single-page applications of WebArena-Infinity, with the jobs of their function tasks."""
