"""Personal data: how long records are kept, and the erasure of a person from all of them."""
