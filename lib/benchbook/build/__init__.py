"""Building pinned systems from source, once per version."""
