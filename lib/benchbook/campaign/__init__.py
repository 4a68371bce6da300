"""A campaign: design -> plan -> run -> record.

A record never knows its runner; only `run` and `repetitions` touch an experiment.
"""
