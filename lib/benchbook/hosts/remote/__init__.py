"""Programs that are pushed to a host and run there: Python >= 3.7, standard library only, one file each."""
