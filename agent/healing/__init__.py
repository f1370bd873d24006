"""Whether an element is still the one that was meant, and finding it again where it is not (PACTS 4.5).

`judging` compares two fingerprints, `matching` chooses among all elements of a look, `healer` brings an
element back within three rounds. Nothing here is sure because it is likely: two close ones are *ambiguous*.
"""
