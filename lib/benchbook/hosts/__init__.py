"""Hosts: who they are (inventory), how they are reached (remote), and what runs on them for long (jobs)."""
