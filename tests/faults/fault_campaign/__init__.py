"""Breaks one thing in a real run, round after round, and checks what must hold whatever breaks."""
