"""The published site: a page per report, its JSON, and the index."""

import sys

# Notebooks are checked by jsonschema. What it looks for on import makes a parser of the grammar of internationalised
# addresses, and knows time zones, for formats that no notebook's schema names: most of the time that papermill and
# nbconvert take to import. None is how Python is told that a module is not there; jsonschema then does without it.
for _name in ("isoduration", "rfc3987_syntax"):
    vars(sys)["modules"].setdefault(_name, None)
