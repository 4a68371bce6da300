"""What records come to: tables beside the published ones, checks, machine time, results. Never a host."""
