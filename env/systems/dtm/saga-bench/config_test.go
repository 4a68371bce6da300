package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func environmentOf(password string) func(string) string {
	return func(name string) string {
		if name == passwordVariable {
			return password
		}
		return ""
	}
}

func TestThePasswordComesFromTheEnvironmentOrAFile(t *testing.T) {
	c, err := parseConfig(nil, environmentOf("from-variable"), io.Discard)
	if err != nil || c.DBPassword != "from-variable" {
		t.Fatalf("got %q, %v", c.DBPassword, err)
	}
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("from file \n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err = parseConfig([]string{"-db-password-file", file}, environmentOf("from-variable"), io.Discard)
	if err != nil || c.DBPassword != "from file " {
		t.Fatalf("got %q, %v; only the line's end is not the password's", c.DBPassword, err)
	}
}

func TestDefaultsAndModes(t *testing.T) {
	c, err := parseConfig([]string{"-listen", "127.0.0.4:8083", "-mode", "none"}, environmentOf(""), io.Discard)
	if err != nil || c.Advertise != "http://127.0.0.4:8083" || c.Rung != (Rung{Pairs: 1}) {
		t.Fatalf("got %+v, %v", c, err)
	}
}

func TestABadFlagIsRefusedByName(t *testing.T) {
	for arguments, named := range map[string]string{
		"-mode sometimes":             "-mode",
		"-listen 8083":                "-listen",
		"-db-address localhost":       "-db-address",
		"-db-name a;b":                "-db-name",
		"-accounts 1":                 "-accounts",
		"-db-conns 0":                 "-db-conns",
		"-retry-interval -1":          "-retry-interval",
		"-mode none -barrier":         "barrier",
		"-db-password-file /no/where": "-db-password-file",
		"surplus":                     "surplus",
	} {
		_, err := parseConfig(strings.Fields(arguments), environmentOf(""), io.Discard)
		if err == nil || !strings.Contains(err.Error(), named) {
			t.Errorf("%s: the error must name %s, got %v", arguments, named, err)
		}
	}
}
