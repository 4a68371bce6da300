"""The audit of a published report: what contradicts itself in its tables, text and topology, with the arithmetic.

Every check is general and reads what a report's data package and `report.yaml` declare; see data/published/README.md.
"""
