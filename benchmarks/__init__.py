"""What the kit itself costs: `make bench` lists and runs these."""
