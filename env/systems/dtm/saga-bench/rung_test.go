package main

import (
	"math"
	"net/url"
	"strings"
	"testing"
)

func TestAQueryOverridesTheDefaults(t *testing.T) {
	defaults := Rung{DTM: true, Barrier: true, Pairs: 1}
	got, err := rungFromQuery(defaults, url.Values{"pairs": {"5"}, "fail": {"0.05"}, "barrier": {"0"}})
	if want := (Rung{DTM: true, Pairs: 5, FailRatio: 0.05}); err != nil || got != want {
		t.Fatalf("got %+v, %v; want %+v", got, err, want)
	}
	if got, err := rungFromQuery(defaults, url.Values{}); err != nil || got != defaults {
		t.Fatalf("an empty query must keep the defaults, got %+v, %v", got, err)
	}
}

func TestABadQueryIsRefusedByName(t *testing.T) {
	for query, named := range map[string]string{
		"speed=9":         "speed",
		"dtm=maybe":       "dtm",
		"pairs=x":         "pairs",
		"pairs=-1":        "pairs",
		"pairs=1001":      "pairs",
		"dtm=1&fail=1.5":  "fail",
		"dtm=1&fail=NaN":  "fail",
		"dtm=0&fail=0.1":  "fail",
		"dtm=0&barrier=1": "barrier",
		"dtm=1&barrier=5": "barrier",
	} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := rungFromQuery(Rung{}, values); err == nil || !strings.Contains(err.Error(), named) {
			t.Errorf("%s: the error must name %s, got %v", query, named, err)
		}
	}
	if err := (Rung{DTM: true, FailRatio: math.NaN()}).validate(); err == nil {
		t.Error("NaN is no share")
	}
}
