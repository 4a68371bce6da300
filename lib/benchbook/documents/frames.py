"""All figures of a document as one tidy frame."""

from __future__ import annotations

import pandas as pd

from benchbook.documents.tables import Reading

FRAME = "document table section row label column quantity role value unit low high printed kind line".split()


def frame(read: Reading) -> pd.DataFrame:
    """Return every figure of every table, a row each: its value in its unit, the bounds of its rounding, its line."""
    rows = [
        (
            read.document,
            table.id,
            table.section,
            number,
            table.label(number),
            column.heading,
            column.quantity,
            column.role,
            figure.value,
            figure.unit or (column.unit if part == 0 else ""),
            figure.low,
            figure.high,
            figure.printed,
            figure.kind,
            cell.line,
        )
        for table in read.tables
        for number, cells in enumerate(table.rows)
        for column, cell in zip(table.columns, cells, strict=True)
        for part, figure in enumerate(cell.figures)
    ]
    return pd.DataFrame(rows, columns=FRAME)
