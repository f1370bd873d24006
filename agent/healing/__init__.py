"""Checks that an element is the one that is meant, and finds it again where it is not (PACTS 4.5).

`fingerprint_comparison` compares two fingerprints, `fingerprint_search` chooses among the elements of a page
index, `word_search` finds by words, `healer` heals in at most three rounds. A likely element is never taken
for a certain one: two close candidates are *ambiguous*.
"""
