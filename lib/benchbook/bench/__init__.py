"""What the kit itself costs: `make bench`."""
