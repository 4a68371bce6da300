"""The DDT report: one MongoDB server copied to another, every copy proved by hash."""
