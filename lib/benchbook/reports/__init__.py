"""A folder per kind of report: what it needs and no other does; and the kinds by name."""
