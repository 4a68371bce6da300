package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"strings"
	"time"
)

// passwordVariable is read when no password file is given; a flag would show the password in the process list.
const passwordVariable = "SAGA_BENCH_DB_PASSWORD"

// Config is all that the command line and the environment decide.
type Config struct {
	Listen, Advertise, DTMServer          string
	DBAddress, DBUser, DBName, DBPassword string
	Accounts, DBConns, HTTPIdle           int
	InitialBalance, RetryIntervalS        int64
	Timeout, DrainTimeout                 time.Duration
	Rung                                  Rung
	passwordFile, mode                    string
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9_]{1,64}$`)

func parseConfig(arguments []string, environment func(string) string, output io.Writer) (Config, error) {
	var c Config
	flags := flagSet(&c, output)
	if err := flags.Parse(arguments); err != nil {
		return c, err
	}
	if flags.NArg() > 0 {
		return c, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if err := c.complete(environment); err != nil {
		return c, err
	}
	return c, c.validate()
}

func flagSet(c *Config, output io.Writer) *flag.FlagSet {
	f := flag.NewFlagSet("saga-bench", flag.ContinueOnError)
	f.SetOutput(output)
	f.StringVar(&c.Listen, "listen", "127.0.0.1:8083", "`host:port` to serve on")
	f.StringVar(&c.Advertise, "advertise", "", "base `URL` under which DTM reaches this service (default: http://LISTEN)")
	f.StringVar(&c.DTMServer, "dtm", "http://127.0.0.1:36789/api/dtmsvr", "`URL` of the DTM server's HTTP API")
	f.StringVar(&c.DBAddress, "db-address", "127.0.0.1:3306", "`host:port` of the MySQL-protocol server")
	f.StringVar(&c.DBUser, "db-user", "root", "database user; its password is in $"+passwordVariable+" or -db-password-file")
	f.StringVar(&c.passwordFile, "db-password-file", "", "`file` that holds the database password")
	f.StringVar(&c.DBName, "db-name", "dtm_busi", "database of the accounts and their log")
	f.IntVar(&c.DBConns, "db-conns", 200, "database connections, open and idle")
	f.IntVar(&c.HTTPIdle, "http-idle", 1000, "idle HTTP connections kept per server")
	f.IntVar(&c.Accounts, "accounts", 10000, "accounts; each transaction takes two of them at random")
	f.Int64Var(&c.InitialBalance, "initial-balance", 1000000, "balance of every account after a reset")
	f.StringVar(&c.mode, "mode", "dtm", "none or dtm; a request overrides it by ?dtm=")
	f.BoolVar(&c.Rung.Barrier, "barrier", false, "sub-transaction barrier; ?barrier=")
	f.IntVar(&c.Rung.Pairs, "pairs", 1, "pairs of INSERT and UPDATE in a branch; ?pairs=")
	f.Float64Var(&c.Rung.FailRatio, "fail-ratio", 0, "share of TransIn branches that answer FAILURE; ?fail=")
	f.Int64Var(&c.RetryIntervalS, "retry-interval", 0, "`seconds` until DTM retries a branch of our sagas (0: as the server is set)")
	f.DurationVar(&c.Timeout, "timeout", 60*time.Second, "longest wait for one global transaction")
	f.DurationVar(&c.DrainTimeout, "drain-timeout", 30*time.Second, "longest wait for transactions in flight after SIGTERM")
	return f
}

func (c *Config) complete(environment func(string) string) error {
	switch c.mode {
	case "none", "dtm":
		c.Rung.DTM = c.mode == "dtm"
	default:
		return fmt.Errorf("-mode must be none or dtm, got %q", c.mode)
	}
	if c.Advertise == "" {
		c.Advertise = "http://" + c.Listen
	}
	c.DBPassword = environment(passwordVariable)
	if c.passwordFile == "" {
		return nil
	}
	content, err := os.ReadFile(c.passwordFile)
	if err != nil {
		return fmt.Errorf("-db-password-file: %w", err)
	}
	c.DBPassword = strings.TrimRight(string(content), "\r\n")
	return nil
}

func (c Config) validate() error {
	for name, address := range map[string]string{"-listen": c.Listen, "-db-address": c.DBAddress} {
		if _, _, err := net.SplitHostPort(address); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	switch {
	case !plainName.MatchString(c.DBName):
		return fmt.Errorf("-db-name may hold letters, digits and _ only, got %q", c.DBName)
	case c.Accounts < 2:
		return fmt.Errorf("-accounts must be at least 2, got %d", c.Accounts)
	case c.DBConns < 1 || c.HTTPIdle < 1:
		return errors.New("-db-conns and -http-idle must be at least 1")
	case c.RetryIntervalS < 0:
		return fmt.Errorf("-retry-interval must not be negative, got %d", c.RetryIntervalS)
	}
	return c.Rung.validate()
}
