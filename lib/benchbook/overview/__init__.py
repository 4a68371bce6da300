"""What there is, what was run, and whether this machine is fit: for who sits down before the kit."""
