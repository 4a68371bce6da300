"""What stands in `x_printed` is the number that is stored, with every separator that documents use."""

from __future__ import annotations

import pytest

from benchbook.published.reading import _same_digits, resolution


@pytest.mark.parametrize(
    ("stored", "printed", "place"),
    [
        (12000.0, "12,000", 1.0), (12000.0, "12 000", 1.0), (12000.0, "12\u00a0000", 1.0), (12000.0, "12\u2009000", 1.0),
        (12000.0, "12'000", 1.0), (12000.0, "12‘000", 1.0), (12000.0, "12·000", 1.0), (12000.0, "12٬000", 1.0),
        (1234567.0, "12,34,567", 1.0), (12345.6, "12,345.60", 0.01), (5e6, "5.0E+06", 1e5), (12000.0, "12_000", 1.0), (27628.28, "27,628.28", 0.01), (27628.28, "27.628,28", 0.01),
        (1.5, "1,5", 0.1), (13890.0, "13.89k", 10.0), (0.00118, "1.18ms", 1e-5), (-3.42, "(3.42)", 0.01), (-3.42, "–3.42", 0.01),
        (1234567.0, "1.234.567", 1.0), (1234567.5, "1.234.567,5", 0.1), (12000.0, "12\u2060000", 1.0), (12000.0, "12 , 000", 1.0),
        (1200.0, "1\\,200", 1.0), (1200.0, "1{,}200", 1.0), (1200.0, "1&nbsp;200", 1.0), (12000.0, "12\u3000000", 1.0),
        (1200.0, "1,200¹", 1.0), (500000.0, "5 lakh", 1e5), (1200000.0, "1.2 × 10⁶", 1e5), (0.0012, "1.2x10^-3", 1e-4),
        (-40.0, "−40%", 1.0), (-3.42, "‑3.42", 0.01), (-3.42, "－3.42", 0.01), (2.0, "2.00", 0.01),
    ],
)  # fmt: skip
def test_a_separator_changes_neither_number_nor_resolution(stored: float, printed: str, place: float) -> None:
    assert _same_digits(stored, printed)
    assert resolution(stored, printed) == pytest.approx(place)


@pytest.mark.parametrize(
    ("stored", "printed"),
    [
        (12000.0, "12,001"),
        (3.42, "–3.42"),
        (1.0, "<1"),
        (1.0, "≤1"),
        (125.0, "50-200us"),
        (3000000.0, "3,000,000+"),
        (3.42, "3.42-"),
        (64.0, "2⁶"),
        (192.168, "192.168.100.200"),
    ],
)
def test_another_number_and_a_bound_are_not_the_one_that_is_stored(stored: float, printed: str) -> None:
    assert not _same_digits(stored, printed)
