"""The published numbers of a report, as data: its tables with units and provenance, its facts, its design.

tables         load, the tables, and what can be asked of them
report_file    the shapes of report.yaml and datapackage.json
reading        CSV against its schema, files against each other
declarations   what an author says must hold in them
arithmetic     expressions over columns, with printed precision
data_package   the package against the reference implementation, where that is installed
validity       declarations against the columns that they name
"""

from benchbook.published.tables import Field, Published, PublishedTable, facts, known_reports, load

__all__ = ["Field", "Published", "PublishedTable", "facts", "known_reports", "load"]
