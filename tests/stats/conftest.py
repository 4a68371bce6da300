"""Series whose true mean and autocorrelation are known."""

import numpy as np
import pytest
from scipy import signal


def _ar1(rng, phi, *, series, samples, sd=1.0):
    """Stationary AR(1) rows with mean 0 and standard deviation `sd`, shape (series, samples)."""
    noise = rng.standard_normal((series, samples))
    noise[:, 1:] *= np.sqrt(1 - phi**2)
    return sd * signal.lfilter([1], [1, -phi], noise, axis=1)


@pytest.fixture
def ar1():
    return _ar1
