// unistore-server: TiDB's own storage engine (unistore) behind TiKV's protocol, as one store of a cluster.
//
// It takes tikv-server's options, so that whoever starts the one can start the other. There is no Raft in it: the one
// store holds the only replica of every region.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/pingcap/log"
	"github.com/pingcap/tidb/store/mockstore/unistore/config"
)

// What it tells PD and `--version`; it must parse as a version. Set by the linker, with the commit of its packages.
var version = "6.5.0-unistore"

type options struct {
	pd, addr, advertise, status, advertiseStatus, dataDir, logFile, logLevel string
}

func main() {
	wanted, err := parsed(os.Args[1:])
	if err == nil {
		err = run(wanted)
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "unistore-server:", err)
		os.Exit(1)
	}
}

func parsed(args []string) (options, error) {
	var o options
	var showVersion bool
	flags := flag.NewFlagSet("unistore-server", flag.ContinueOnError)
	flags.StringVar(&o.pd, "pd", "", "addresses of the placement drivers, host:port, with commas between them")
	flags.StringVar(&o.addr, "addr", "127.0.0.1:20160", "where to listen")
	flags.StringVar(&o.advertise, "advertise-addr", "", "where others reach it; as -addr if not given")
	flags.StringVar(&o.status, "status-addr", "", "where to serve /status, /config and /metrics over HTTP")
	flags.StringVar(&o.advertiseStatus, "advertise-status-addr", "", "where others reach that; as -status-addr if not given")
	flags.StringVar(&o.dataDir, "data-dir", "", "folder of the data")
	flags.StringVar(&o.logFile, "log-file", "", "standard error if not given")
	flags.StringVar(&o.logLevel, "log-level", "info", "debug, info, warn or error")
	flags.BoolVar(&showVersion, "V", false, "print the version and end")
	flags.BoolVar(&showVersion, "version", false, "print the version and end")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if showVersion {
		fmt.Println("unistore-server", version)
		return o, flag.ErrHelp
	}
	for name, given := range map[string]string{"pd": o.pd, "data-dir": o.dataDir} {
		if given == "" {
			return o, fmt.Errorf("--%s is missing", name)
		}
	}
	o.advertise = firstOf(o.advertise, o.addr)
	o.advertiseStatus = firstOf(o.advertiseStatus, o.status)
	return o, nil
}

func firstOf(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// As tidb-server sets its embedded unistore, so that what differs between the two is the cluster and not the engine.
func (o options) config() *config.Config {
	conf := config.DefaultConf
	conf.Server.PDAddr, conf.Server.StoreAddr, conf.Server.StatusAddr = o.pd, o.advertise, o.advertiseStatus
	conf.Server.LogLevel, conf.Server.LogfilePath = o.logLevel, o.logFile
	conf.Server.Raft = false
	conf.Engine.DBPath = o.dataDir
	conf.Engine.ValueThreshold = 0
	return &conf
}

func run(o options) error {
	logger, properties, err := log.InitLogger(&log.Config{Level: o.logLevel, File: log.FileLogConfig{Filename: o.logFile}})
	if err != nil {
		return err
	}
	log.ReplaceGlobals(logger, properties)
	if err := os.MkdirAll(o.dataDir, 0o700); err != nil {
		return err
	}
	node, err := open(o.config(), strings.Split(o.pd, ","))
	if err != nil {
		return err
	}
	ended := make(chan error, 2)
	if err := node.serve(o.addr, o.status, ended); err != nil {
		return err
	}
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM, syscall.SIGINT)
	select {
	case <-asked:
		node.stop()
		return nil
	case err := <-ended:
		return err
	}
}
