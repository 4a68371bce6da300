"""Probes: a small process on a host samples once a second into a file there; it is fetched when the trial ends."""
