package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"
)

// Both ends have bodies of one length, so that a client which compares lengths sees no difference.
var endings = map[Outcome]string{Committed: "COMMIT  \n", RolledBack: "ROLLBACK\n"}

// Service is the HTTP face of it all.
type Service struct {
	config      Config
	bank        *Bank
	coordinator *Coordinator
	stats       *Stats
	inFlight    atomic.Int64
	draining    atomic.Bool
}

func newService(c Config, bank *Bank) *Service {
	return &Service{config: c, bank: bank, coordinator: newCoordinator(c), stats: newStats()}
}

func (s *Service) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /saga", s.saga)
	mux.HandleFunc("POST /branch/{step}", s.branch)
	mux.HandleFunc("GET /healthz", s.health)
	mux.HandleFunc("GET /stats", s.showStats)
	mux.HandleFunc("GET /check", s.check)
	mux.HandleFunc("POST /reset", s.reset)
	return mux
}

// saga runs one global transaction and answers when it has ended: 200 with COMMIT or ROLLBACK, 502 with the reason.
func (s *Service) saga(w http.ResponseWriter, r *http.Request) {
	rung, err := rungFromQuery(s.config.Rung, r.URL.Query())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.inFlight.Add(1)
	defer s.inFlight.Add(-1)
	if s.draining.Load() {
		http.Error(w, "draining", http.StatusServiceUnavailable)
		return
	}
	// A client that goes away must not leave a transfer half done: without DTM nobody would finish it.
	outcome, err := s.runOne(context.WithoutCancel(r.Context()), rung)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	answer(w, http.StatusOK, endings[outcome])
}

func (s *Service) runOne(ctx context.Context, rung Rung) (Outcome, error) {
	// At random, as DTM's own clients name theirs: in MySQL, names in a sequence lock each other's gap in the index.
	transfer := newTransfer(rand.Text(), rung, s.config.Accounts)
	s.stats.started()
	began := time.Now()
	outcome, err := s.coordinator.run(ctx, transfer)
	s.stats.ended(outcome, time.Since(began), err)
	return outcome, err
}

// branch serves the action and the compensation of one step, in DTM's protocol: 200, 409 with FAILURE, or another status,
// which DTM takes as "call again".
func (s *Service) branch(w http.ResponseWriter, r *http.Request) {
	call, err := branchCallFrom(r.PathValue("step"), r.URL.Query())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	operation := call.Step + "." + call.Op
	s.stats.branch(operation, "called")
	event, err := s.execute(call)
	s.stats.branch(operation, event)
	switch {
	case errors.Is(err, errRefused):
		answer(w, http.StatusConflict, `{"dtm_result":"FAILURE","message":"`+errRefused.Error()+`"}`)
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	default:
		answer(w, http.StatusOK, `{"dtm_result":"SUCCESS"}`)
	}
}

// execute runs a call and says what became of it: executed, skipped (by the barrier), refused or failed. The context is not
// the request's: a transaction that a dead caller began is finished, and DTM's next call finds it done.
func (s *Service) execute(call BranchCall) (event string, err error) {
	executed := true
	switch {
	case call.Pairs > 0:
		executed, err = s.bank.apply(context.Background(), call)
	case call.Refuse:
		err = errRefused
	}
	switch {
	case errors.Is(err, errRefused):
		return "refused", err
	case err != nil:
		return "failed", err
	}
	if call.Op == "compensate" {
		s.coordinator.undoing.done(call.Gid, call.BranchID)
	}
	if !executed {
		return "skipped", nil
	}
	return "executed", nil
}

func (s *Service) health(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
	defer cancel()
	if s.draining.Load() {
		http.Error(w, "draining", http.StatusServiceUnavailable)
		return
	}
	if err := s.bank.db.PingContext(ctx); err != nil {
		http.Error(w, "database: "+err.Error(), http.StatusServiceUnavailable)
		return
	}
	answer(w, http.StatusOK, "ok\n")
}

func (s *Service) showStats(w http.ResponseWriter, _ *http.Request) {
	snapshot, err := s.stats.snapshot()
	snapshot.InFlight, snapshot.Retried = s.inFlight.Load(), s.bank.retried.Load()+s.coordinator.resubmitted.Load()
	answerJSON(w, snapshot, err)
}

func (s *Service) check(w http.ResponseWriter, r *http.Request) {
	books, err := s.bank.check(r.Context())
	answerJSON(w, books, err)
}

func (s *Service) reset(w http.ResponseWriter, r *http.Request) {
	if running := s.inFlight.Load(); running > 0 {
		http.Error(w, fmt.Sprintf("%d transactions are in flight", running), http.StatusConflict)
		return
	}
	if err := s.bank.reset(r.Context()); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	s.bank.retried.Store(0)
	s.coordinator.resubmitted.Store(0)
	s.stats.reset()
	answer(w, http.StatusOK, "ok\n")
}

func answerJSON(w http.ResponseWriter, body any, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	content, err := json.Marshal(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	answer(w, http.StatusOK, string(content)+"\n")
}

// answer ignores a failed write: it means that the caller has gone, which is the caller's to report.
func answer(w http.ResponseWriter, status int, body string) {
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body))
}
