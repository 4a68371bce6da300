"""What the target already holds of a range: a transfer that is started again writes only what is missing.

Kept as the sorted halves of 128-bit digests, 16 bytes a document. A document that is not recognised although it is
there (which two equal first halves can cause) is written again, and ends as a duplicate that is compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from benchbook.transfer import raw

LIMIT = 4_000_000
_Halves = np.dtype([("high", "<u8"), ("low", "<u8")])


class Known:
    """The digests of documents on the target, at most `LIMIT`: 64 MB."""

    def __init__(self, batches: Iterable[bytes]) -> None:
        packed = bytearray()
        for batch in batches:
            packed += _digests(batch)
            if len(packed) >= LIMIT * raw.DIGEST_BYTES:
                break
        table = np.frombuffer(bytes(packed), dtype=_Halves)
        self._table = table[np.argsort(table["high"], kind="stable")]

    def __len__(self) -> int:
        return len(self._table)

    def missing(self, batch: bytes) -> bytes:
        """The batch without the documents that the target holds, byte for byte."""
        if not len(self):
            return batch
        is_known = self._recognised(np.frombuffer(_digests(batch), dtype=_Halves))
        return b"".join(_unless(is_known.tolist(), batch))

    def _recognised(self, asked: np.ndarray) -> np.ndarray:
        place = np.searchsorted(self._table["high"], asked["high"])
        place[place == len(self)] = 0
        return np.asarray(self._table[place] == asked)


def _digests(batch: bytes) -> bytes:
    return b"".join(map(raw.digest, raw.split(batch)))


def _unless(is_known: list[bool], batch: bytes) -> Iterator[bytes]:
    return (document for document, known in zip(raw.split(batch), is_known, strict=True) if not known)
