"""Sampling programs that run on hosts: Python >= 3.7, one file each. `run_probe.py` calls the probes."""
