package main

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"time"

	"github.com/pingcap/kvproto/pkg/deadlock"
	"github.com/pingcap/kvproto/pkg/metapb"
	"github.com/pingcap/kvproto/pkg/pdpb"
	"github.com/pingcap/kvproto/pkg/tikvpb"
	"github.com/pingcap/tidb/store/mockstore/unistore/config"
	"github.com/pingcap/tidb/store/mockstore/unistore/pd"
	"github.com/pingcap/tidb/store/mockstore/unistore/server"
	"github.com/pingcap/tidb/store/mockstore/unistore/tikv"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
)

// A node is the store, what PD knows of it, and its two servers.
type node struct {
	conf   *config.Config
	driver pd.Client
	store  *tikv.Server
	health *health.Server
	rpc    *grpc.Server
}

// introduced tells PD more of the store than the engine does: cluster_info and cluster_config ask by it.
type introduced struct {
	pd.Client
	status  string
	started int64
}

func (c introduced) complete(store *metapb.Store) *metapb.Store {
	store.Version, store.StatusAddress, store.StartTimestamp = version, c.status, c.started
	return store
}

func (c introduced) Bootstrap(ctx context.Context, store *metapb.Store, region *metapb.Region) (*pdpb.BootstrapResponse, error) {
	return c.Client.Bootstrap(ctx, c.complete(store), region)
}

func (c introduced) PutStore(ctx context.Context, store *metapb.Store) error {
	return c.Client.PutStore(ctx, c.complete(store))
}

func open(conf *config.Config, drivers []string) (*node, error) {
	client, err := pd.NewClient(drivers, "unistore-server")
	if err != nil {
		return nil, err
	}
	driver := introduced{client, conf.Server.StatusAddr, time.Now().Unix()}
	store, err := server.New(conf, driver)
	if err != nil {
		client.Close()
		return nil, err
	}
	return &node{conf: conf, driver: driver, store: store, health: health.NewServer()}, nil
}

// serve returns once both ports are bound; `ended` hears of a server that ends by itself.
func (n *node) serve(addr, status string, ended chan<- error) error {
	calls, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	n.rpc = grpc.NewServer(
		// TiDB asks every 10 s at most whether the connection lives; a policy of 5 minutes, gRPC's own, would end it.
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 2 * time.Second, PermitWithoutStream: true}),
		grpc.InitialWindowSize(1<<30),
		grpc.InitialConnWindowSize(1<<30),
		grpc.MaxRecvMsgSize(10<<20),
	)
	tikvpb.RegisterTikvServer(n.rpc, n.store)
	deadlock.RegisterDeadlockServer(n.rpc, n.store)
	// After a call that failed TiDB asks here whether the store is there again, and believes nothing else.
	grpc_health_v1.RegisterHealthServer(n.rpc, n.health)
	go func() { ended <- n.rpc.Serve(calls) }()
	if status == "" {
		return nil
	}
	pages, err := net.Listen("tcp", status)
	if err != nil {
		return err
	}
	go func() { ended <- http.Serve(pages, n.pages()) }()
	return nil
}

func (n *node) pages() http.Handler {
	pages := http.NewServeMux()
	pages.Handle("/metrics", promhttp.Handler())
	pages.HandleFunc("/status", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]string{"version": version})
	})
	pages.HandleFunc("/config", func(w http.ResponseWriter, _ *http.Request) { answer(w, n.conf) })
	return pages
}

func answer(w http.ResponseWriter, content any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(content); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// stop ends the calls first: the engine closes only when none is under way.
func (n *node) stop() {
	n.health.Shutdown()
	n.rpc.Stop()
	n.store.Stop()
	n.driver.Close()
}
