"""The index from a page to its candidate screens: compiled signatures, index keys, URLs, literal texts."""
