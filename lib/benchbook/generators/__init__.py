"""Files of load generators: what each prints, and how the kit runs it. Records and documents are read by the same."""
