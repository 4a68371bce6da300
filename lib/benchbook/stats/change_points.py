"""Where a signal changes its level: change points by penalised least squares."""

from __future__ import annotations

from benchbook.stats.estimates import Array


def change_points(signal: Array, *, least: int, penalty: float) -> list[int]:
    """First samples of the segments after the first, of `least` samples or more; a change must save `penalty`.

    `signal`: a row per sample, a column per dimension.
    """
    import ruptures  # noqa: PLC0415 - takes half a second, and who measures has nothing to ask of it

    # Killick, Fearnhead & Eckley (2012), JASA 107(500): PELT; a penalty of a few log(n) per change, sec. 3. The linear
    # kernel is least squares on the level (Arlot, Celisse & Harchaoui (2019), JMLR 20(162)).
    found = ruptures.KernelCPD(kernel="linear", min_size=least).fit(signal).predict(pen=penalty)
    return [int(place) for place in found[:-1]]
