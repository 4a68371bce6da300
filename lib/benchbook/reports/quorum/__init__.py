"""Reports of loads on a system that decides by quorum, and what becomes of a load when it loses a member."""
