"""Copies MongoDB databases from one server to another, proves the copy, and makes the data set to copy.

A command of its own (`python -m mongo_transfer --help`) and the load of the `ddt_full_scale` report. Kept free of
imports: every worker process imports this package, and what it imports is CPU time that the transfer is charged for.
"""
