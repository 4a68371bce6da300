"""Benchbook restages published database benchmark reports and says, claim by claim, what holds."""

__version__ = "0.1.0"
