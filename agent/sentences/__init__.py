"""Sentences of users: which task a sentence means, and the values of its inputs, without a model."""
