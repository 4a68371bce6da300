"""Two campaigns side by side: what differs between their environments, and between what they measured.

address    which campaigns are meant
environment_facts   what of an environment may change a result, with the lists of what cannot
gate       which differences are unfair
cells      ratio per cell with interval, Holm, equivalence
history    campaigns that repeat a compared one, and what they differ by
pair       what was asked for, all of it, and the verdict
view       how a notebook shows it; command prints it, for people or programs
"""

NOTEBOOK = "compare_runs"
"""The notebook that shows a comparison: not a report, so `make report` does not run it; `compare --page` does."""
