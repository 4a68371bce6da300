"""Frame -> figure."""
