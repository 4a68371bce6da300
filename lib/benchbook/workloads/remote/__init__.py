"""What runs on client hosts beside a load generator, one file each."""
