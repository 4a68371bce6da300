// Command saga-bench is the business of the DTM report: an endpoint that runs one money transfer as a saga (or without DTM)
// and waits for its end, and the branches that DTM calls back. A load generator drives GET /saga.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/dtm-labs/logger"
)

// version is set by the build.
var version = "unversioned"

func main() {
	config, err := parseConfig(os.Args[1:], os.Getenv, os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "saga-bench:", err)
		os.Exit(2)
	}
	if err := serve(config); err != nil {
		fmt.Fprintln(os.Stderr, "saga-bench:", err)
		os.Exit(1)
	}
}

// serve listens until SIGTERM or SIGINT, then lets the transactions in flight end.
func serve(config Config) error {
	logger.InitLog("error") // DTM's client library prints each request otherwise
	bank, err := openBank(config)
	if err != nil {
		return err
	}
	service := newService(config, bank)
	server := &http.Server{Handler: service.routes(), ReadHeaderTimeout: 10 * time.Second}
	listener, err := net.Listen("tcp", config.Listen)
	if err != nil {
		return err
	}
	asked, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	fmt.Fprintln(os.Stderr, "saga-bench", version, "listens on", listener.Addr())
	select {
	case err := <-ended:
		return err
	case <-asked.Done():
	}
	return errors.Join(drain(service, server, config.DrainTimeout), bank.db.Close())
}

// drain refuses new transactions but keeps listening until those in flight have ended: DTM must still be able to call their
// branches, on new connections too.
func drain(service *Service, server *http.Server, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	service.draining.Store(true)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for service.inFlight.Load() > 0 && ctx.Err() == nil {
		<-tick.C
	}
	return server.Shutdown(ctx)
}
