"""Reports that drive a system with a load generator, a cell per row of a published table."""
