"""The published site: a page per report, its JSON, and the index."""
