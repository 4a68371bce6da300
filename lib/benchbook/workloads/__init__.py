"""Load generators: one file each, a command and the parser of what it prints."""
