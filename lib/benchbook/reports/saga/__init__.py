"""The DTM report: the ladder of sagas, failing branches, a killed server."""
