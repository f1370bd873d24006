"""`periplus learn`: from pages that somebody sorted, or from sessions, to screens that are known again."""
