package main

import (
	"fmt"
	"net/url"
	"strconv"
)

// Rung is one step of the report's ladder: who coordinates the two branches, and how heavy each of them is.
type Rung struct {
	DTM       bool    // a DTM server coordinates; without it, the two branches are called one after the other
	Barrier   bool    // each branch runs behind DTM's sub-transaction barrier (one more INSERT)
	Pairs     int     // pairs of INSERT + UPDATE in a branch; 0 is an empty branch, which opens no DB transaction
	FailRatio float64 // share of TransIn branches that answer FAILURE, in [0, 1]
}

const maxPairs = 1000

// rungFromQuery overrides the defaults by the query's dtm=0|1, barrier=0|1, pairs=N and fail=RATIO.
func rungFromQuery(defaults Rung, query url.Values) (Rung, error) {
	rung := defaults
	for key := range query {
		if err := rung.set(key, query.Get(key)); err != nil {
			return Rung{}, err
		}
	}
	return rung, rung.validate()
}

func (r *Rung) set(key, value string) (err error) {
	switch key {
	case "dtm":
		r.DTM, err = strconv.ParseBool(value)
	case "barrier":
		r.Barrier, err = strconv.ParseBool(value)
	case "pairs":
		r.Pairs, err = strconv.Atoi(value)
	case "fail":
		r.FailRatio, err = strconv.ParseFloat(value, 64)
	default:
		return fmt.Errorf("unknown parameter %q: there are dtm, barrier, pairs and fail", key)
	}
	if err != nil {
		return fmt.Errorf("%s=%q cannot be read: %w", key, value, err)
	}
	return nil
}

func (r Rung) validate() error {
	switch {
	case r.Pairs < 0 || r.Pairs > maxPairs:
		return fmt.Errorf("pairs must be 0 to %d, got %d", maxPairs, r.Pairs)
	case !(r.FailRatio >= 0 && r.FailRatio <= 1): // written so that NaN is refused too
		return fmt.Errorf("fail must be a share from 0 to 1, got %g", r.FailRatio)
	case r.Barrier && !r.DTM:
		return fmt.Errorf("barrier=1 needs dtm=1: without DTM nothing calls a branch twice")
	case r.FailRatio > 0 && !r.DTM:
		return fmt.Errorf("fail needs dtm=1: without DTM nothing compensates the branch that has committed")
	}
	return nil
}
