"""Redis, once more, for Benchbook: a system, a load generator and a probe, found by entry points only."""
