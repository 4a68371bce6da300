"""Sampling programs that run on hosts: Python >= 3.7, one file each."""
