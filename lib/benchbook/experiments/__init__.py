"""Experiments: how the trials of a kind of report are run, from top to bottom; one file per kind."""
