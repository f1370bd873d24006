"""Runs of sentences for which no task is known: a plan by a language model, then single acts within it and a budget."""
