"""What goes wrong once a transfer runs. What is wrong before it runs is a `benchbook.errors.BadInput`."""

from __future__ import annotations

from benchbook.errors import TrialFailed


class TransferFailed(TrialFailed):
    """The copy ended early: an error that a retry cannot mend. What was written stays and is reported."""


class ProofFailed(TrialFailed):
    """Source and target do not hold the same documents."""


class LoadFailed(TrialFailed):
    """The data set could not be written as asked for."""
