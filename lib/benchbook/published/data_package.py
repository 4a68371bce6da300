"""A published package against the reference implementation of data packages, with all of its format rules."""

from __future__ import annotations

import re
from pathlib import Path

from frictionless import FrictionlessException, Package

from benchbook import paths
from benchbook.errors import BadInput
from benchbook.published.report_file import package_json
from benchbook.published.tables import Published, load


def validate(report: str, root: Path | None = None) -> Published:
    """As `tables.load`, but Frictionless validates the package too; the first call takes seconds. Raise BadInput."""
    found = load(report, root)
    check((paths.published_dir(report) if root is None else root / report) / "datapackage.json")
    return found


def check(descriptor: Path) -> None:
    """Raise BadInput for the first error in a package, metadata or data."""
    try:
        report = Package.from_descriptor(package_json(descriptor), basepath=str(descriptor.parent)).validate()
    except FrictionlessException as error:
        reasons = "; ".join(dict.fromkeys(reason.note for reason in error.reasons if reason.note)) or error.error.note
        problem = f"{error.error.message}: {reasons}" if reasons not in error.error.message else error.error.message
        # Its schema says in a regular expression what a name is made of.
        problem = re.sub(
            r"does not match '\^\S*\[-a-z0-9\._/\]\S*'", "is not of lower-case letters, digits and -._/", problem
        )
        raise BadInput(problem, file=descriptor, fix="make it a valid data package") from error
    except re.error as error:
        fix = "correct the `pattern` of a field's constraints"
        raise BadInput(f"a pattern is no regular expression: {error}", file=descriptor, fix=fix) from error
    for problem in report.errors:
        raise BadInput(problem.message, file=descriptor, fix="make it a valid data package")
    for task in report.tasks:
        for problem in task.errors:
            file = descriptor.parent / str(task.place)
            raise BadInput(problem.message, file=file, fix="make the table agree with its schema")
