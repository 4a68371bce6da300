"""What the metrics of a member of etcd say (etcd.io/docs/v3.5/metrics)."""

import urllib.request

METRICS = {
    "etcd_server_is_leader": ("level", "leaders"),
    "etcd_server_leader_changes_seen_total": ("counter", "1/s"),
    "etcd_server_proposals_committed_total": ("counter", "1/s"),
    "etcd_server_proposals_pending": ("level", "1"),
    "etcd_server_proposals_failed_total": ("counter", "1/s"),
    "etcd_disk_wal_fsync_duration_seconds_count": ("counter", "1/s"),
    "etcd_disk_wal_fsync_duration_seconds_sum": ("counter", "s/s"),
    "etcd_disk_backend_commit_duration_seconds_count": ("counter", "1/s"),
    "etcd_disk_backend_commit_duration_seconds_sum": ("counter", "s/s"),
    "etcd_mvcc_db_total_size_in_bytes": ("level", "B"),
    "etcd_network_client_grpc_received_bytes_total": ("counter", "B/s"),
    "etcd_network_client_grpc_sent_bytes_total": ("counter", "B/s"),
    "process_cpu_seconds_total": ("counter", "cores"),
    "process_resident_memory_bytes": ("level", "B"),
}


def sample(address, port):
    """Lines are `name value`, or `name{labels} value`; those with labels are no part of METRICS."""
    with urllib.request.urlopen("http://%s:%d/metrics" % (address, port), timeout=5) as answer:
        pairs = [line.rsplit(" ", 1) for line in answer.read().decode().splitlines() if line[:1] not in "#"]
    return {name: float(value) for name, value in pairs if name in METRICS}
