package main

import (
	"fmt"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Outcome is how a global transaction ended, as its client sees it.
type Outcome string

// The three ends. Failed means: not known to have ended (DTM away, a branch that must be retried, a timeout).
const (
	Committed  Outcome = "committed"
	RolledBack Outcome = "rolled_back"
	Failed     Outcome = "failed"
)

// Latencies are kept from 1 us to 10 min with 3 significant digits.
const (
	lowestUS, highestUS, significantDigits = 1, 600_000_000, 3
)

// Stats counts since the start or the last reset. One mutex: a few thousand updates a second do not contend.
type Stats struct {
	mu       sync.Mutex
	since    time.Time
	global   map[string]int64
	branches map[string]map[string]int64
	latency  map[Outcome]*hdrhistogram.Histogram
	failure  string // why the first one failed
}

// Latency is one outcome's latencies: milliseconds for reading, and the whole histogram (microseconds, HdrHistogram V2
// compressed, base64) for merging with others.
type Latency struct {
	Count     int64              `json:"count"`
	MeanMS    float64            `json:"mean_ms"`
	MaxMS     float64            `json:"max_ms"`
	Quantiles map[string]float64 `json:"percentiles_ms"`
	Histogram string             `json:"hdr_us"`
}

// Snapshot is the body of /stats.
type Snapshot struct {
	Version  string                      `json:"version"`
	Since    time.Time                   `json:"since"`
	InFlight int64                       `json:"in_flight"`
	Retried  int64                       `json:"db_transactions_retried"`
	Global   map[string]int64            `json:"global"`
	Branches map[string]map[string]int64 `json:"branches"`
	Latency  map[Outcome]Latency         `json:"latency"`
	Failure  string                      `json:"first_failure"`
}

func newStats() *Stats {
	s := &Stats{}
	s.reset()
	return s
}

func (s *Stats) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since = time.Now().UTC()
	s.global = map[string]int64{"started": 0}
	s.branches = map[string]map[string]int64{}
	s.latency = map[Outcome]*hdrhistogram.Histogram{}
	s.failure = ""
	for _, outcome := range []Outcome{Committed, RolledBack, Failed} {
		s.global[string(outcome)] = 0
		s.latency[outcome] = hdrhistogram.New(lowestUS, highestUS, significantDigits)
	}
}

func (s *Stats) started() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.global["started"]++
}

func (s *Stats) ended(outcome Outcome, took time.Duration, why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if why != nil && s.failure == "" {
		s.failure = why.Error()
	}
	s.global[string(outcome)]++
	us := min(max(took.Microseconds(), lowestUS), highestUS)
	if err := s.latency[outcome].RecordValue(us); err != nil {
		panic(err) // the value was clamped into the histogram's range
	}
}

// branch counts what happened to a call of a branch operation, for example ("in.compensate", "executed").
func (s *Stats) branch(operation, event string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.branches[operation] == nil {
		s.branches[operation] = map[string]int64{}
	}
	s.branches[operation][event]++
}

func (s *Stats) snapshot() (Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	shot := Snapshot{Version: version, Since: s.since, Global: map[string]int64{}, Branches: map[string]map[string]int64{},
		Latency: map[Outcome]Latency{}, Failure: s.failure}
	for name, count := range s.global {
		shot.Global[name] = count
	}
	for operation, events := range s.branches {
		shot.Branches[operation] = map[string]int64{}
		for event, count := range events {
			shot.Branches[operation][event] = count
		}
	}
	for outcome, histogram := range s.latency {
		latency, err := latencyOf(histogram)
		if err != nil {
			return shot, err
		}
		shot.Latency[outcome] = latency
	}
	return shot, nil
}

func latencyOf(h *hdrhistogram.Histogram) (Latency, error) {
	encoded, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return Latency{}, fmt.Errorf("histogram cannot be encoded: %w", err)
	}
	latency := Latency{Count: h.TotalCount(), MeanMS: h.Mean() / 1e3, MaxMS: float64(h.Max()) / 1e3, Histogram: string(encoded)}
	if latency.Count == 0 {
		return latency, nil // no percentile of nothing, rather than a zero
	}
	latency.Quantiles = map[string]float64{}
	for _, percentile := range []float64{50, 90, 95, 99, 99.9} {
		latency.Quantiles[fmt.Sprintf("%g", percentile)] = float64(h.ValueAtQuantile(percentile)) / 1e3
	}
	return latency, nil
}
