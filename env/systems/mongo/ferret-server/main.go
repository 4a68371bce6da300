// Command ferret-server is a small MongoDB-protocol server: FerretDB through its embedding API, SQLite files in one folder.
//
// FerretDB's own command cannot be built as a dependency (it expects a version file made in its repository), hence this one.
// It prints "ready" on standard output once it listens, logs errors only, and ends cleanly on SIGTERM or SIGINT.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/FerretDB/FerretDB/ferretdb"
)

// A client that keeps its connection open must not keep the server alive: after this long it ends all the same.
const goodbye = 5 * time.Second

func main() {
	listen := flag.String("listen", "127.0.0.1:27017", "address to listen on, `host:port`")
	dir := flag.String("dir", "", "`folder` of the SQLite files (made if it is not there)")
	flag.Parse()

	if err := serve(*listen, *dir); err != nil {
		fmt.Fprintf(os.Stderr, "ferret-server: %s\n", err)
		os.Exit(1)
	}
}

func serve(listen, dir string) error {
	config, err := configure(listen, dir)
	if err != nil {
		return err
	}

	server, err := ferretdb.New(config)
	if err != nil {
		return err
	}

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()

	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()

	// MongoDBURI blocks until the listener has its address.
	fmt.Printf("ready %s\n", server.MongoDBURI())

	<-ctx.Done()
	select {
	case err = <-done:
		return err
	case <-time.After(goodbye):
		return nil
	}
}

func configure(listen, dir string) (*ferretdb.Config, error) {
	if dir == "" {
		return nil, errors.New("--dir is missing")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	path, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	// Asked here, because the library reports a busy port from a goroutine, by a panic.
	probe, err := net.Listen("tcp", listen)
	if err != nil {
		return nil, err
	}
	if err = probe.Close(); err != nil {
		return nil, err
	}

	// At the warning level FerretDB logs every reply that carries an error, whole.
	quiet := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	slog.SetDefault(quiet)

	return &ferretdb.Config{
		Listener:  ferretdb.ListenerConfig{TCP: listen},
		Logger:    quiet,
		Handler:   "sqlite",
		SQLiteURL: "file:" + path + "/",
	}, nil
}
