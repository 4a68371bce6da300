module benchbook.local/gotpc

go 1.24

// go-tpc drives TPC-C: the load of the report tidb_v7_1_3_tpcc.
require github.com/pingcap/go-tpc v1.0.12
