"""DM's two reports: dump, load and sync from MySQL to TiDB, every transfer proved by checksum."""
