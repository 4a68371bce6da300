package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestATransferTakesTwoDifferentAccounts(t *testing.T) {
	for range 1000 {
		transfer := newTransfer("g", Rung{}, 3)
		if transfer.From == transfer.To || min(transfer.From, transfer.To) < 1 || max(transfer.From, transfer.To) > 3 {
			t.Fatalf("accounts %d and %d of 1 to 3", transfer.From, transfer.To)
		}
		if transfer.Refuse {
			t.Fatal("refused with a share of 0")
		}
	}
	if !newTransfer("g", Rung{FailRatio: 1}, 2).Refuse {
		t.Fatal("not refused with a share of 1")
	}
}

// parsed is what the branch handler reads from the URL that the transfer made, once DTM has added its parameters.
func parsed(t *testing.T, transfer Transfer, step, op string) BranchCall {
	t.Helper()
	address, err := url.Parse(transfer.branchURL("http://host", step))
	if err != nil {
		t.Fatal(err)
	}
	query := address.Query()
	for key, value := range map[string]string{"gid": "g", "branch_id": "01", "op": op, "trans_type": "saga"} {
		query.Set(key, value)
	}
	call, err := branchCallFrom(strings.TrimPrefix(address.Path, "/branch/"), query)
	if err != nil {
		t.Fatal(err)
	}
	return call
}

func TestABranchReadsBackWhatTheTransferAsked(t *testing.T) {
	transfer := Transfer{From: 7, To: 9, Refuse: true, Rung: Rung{DTM: true, Barrier: true, Pairs: 5}}
	out := BranchCall{Step: "out", Gid: "g", BranchID: "01", Op: "action", TransType: "saga", Account: 7, Pairs: 5, Amount: -1, Barrier: true}
	if got := parsed(t, transfer, "out", "action"); !reflect.DeepEqual(got, out) {
		t.Errorf("got %+v, want %+v", got, out)
	}
	in := parsed(t, transfer, "in", "action")
	if in.Account != 9 || in.Amount != 1 || !in.Refuse {
		t.Errorf("TransIn gains 1 and refuses, got %+v", in)
	}
	undo := parsed(t, transfer, "in", "compensate")
	if undo.Amount != -1 || undo.Refuse {
		t.Errorf("a compensation moves the money back and is never refused, got %+v", undo)
	}
}

func TestABadBranchCallIsRefused(t *testing.T) {
	for _, query := range []string{
		"account=x&amount=1&pairs=1&gid=g&branch_id=01&op=action",
		"account=1&amount=1&pairs=1&branch_id=01&op=action",
		"account=1&amount=1&pairs=1&gid=g&branch_id=01&op=try",
	} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := branchCallFrom("out", values); err == nil {
			t.Errorf("%s must be refused", query)
		}
	}
}

func TestDTMsAnswerIsClassified(t *testing.T) {
	// The texts are those of DTM 1.19.0.
	refused := errors.New(`{"dtm_result":"FAILURE","message":"url:http://h/branch/in return failed: {\"message\":\"refused as planned\"} FAILURE"}`)
	pending := errors.New(`{"dtm_result":"FAILURE","message":"wait result not return success: FAILURE"}`)
	for _, c := range []struct {
		err         error
		compensated int
		want        Outcome
	}{{nil, 0, Committed}, {refused, 2, RolledBack}, {refused, 1, Failed}, {pending, 0, Failed}, {errors.New("EOF"), 0, Failed}} {
		got, err := classify(c.err, c.compensated)
		if got != c.want || (err != nil) != (c.want == Failed) {
			t.Errorf("%v after %d compensations: got %s, %v; want %s", c.err, c.compensated, got, err, c.want)
		}
	}
}

func TestASagaIsSubmittedAgainAfterADeadlockOnly(t *testing.T) {
	deadlock := errors.New(`{"message":"Error 1213 (40001): Deadlock found when trying to get lock; try restarting transaction"}`)
	refused := errors.New("FAILURE")
	for name, c := range map[string]struct {
		answers []error
		want    error
		again   int64
	}{
		"at once":        {[]error{nil}, nil, 0},
		"after two":      {[]error{deadlock, deadlock, nil}, nil, 2},
		"another error":  {[]error{refused}, refused, 0},
		"never":          {slices.Repeat([]error{deadlock}, submits), deadlock, submits},
		"deadlock, then": {[]error{deadlock, refused}, refused, 1},
	} {
		coordinator, calls := &Coordinator{}, 0
		got := coordinator.submitted(func() error { calls++; return c.answers[calls-1] })
		if got != c.want || calls != len(c.answers) || coordinator.resubmitted.Load() != c.again {
			t.Errorf("%s: got %v after %d calls, %d again", name, got, calls, coordinator.resubmitted.Load())
		}
	}
}

func TestOnlySagasInFlightAreKept(t *testing.T) {
	u := newUndoing()
	u.done("late", "01")
	u.expect("g")
	u.done("g", "01")
	u.done("g", "01") // DTM may call twice
	u.done("g", "02")
	if got := u.count("g"); got != 2 {
		t.Errorf("2 branches are undone, got %d", got)
	}
	u.forget("g")
	if len(u.branches) != 0 {
		t.Errorf("nothing is in flight, kept %v", u.branches)
	}
}

// empty is a service whose branches are empty, so that no database is asked; it calls itself back.
func empty(t *testing.T) (*Service, *httptest.Server) {
	t.Helper()
	service := newService(Config{Accounts: 2, HTTPIdle: 1}, nil)
	server := httptest.NewServer(service.routes())
	t.Cleanup(server.Close)
	service.config.Advertise = server.URL
	service.coordinator.config.Advertise = server.URL
	return service, server
}

func TestADirectTransferCallsEachBranchOnce(t *testing.T) {
	service, _ := empty(t)
	outcome, err := service.runOne(context.Background(), Rung{})
	if outcome != Committed || err != nil {
		t.Fatalf("got %s, %v", outcome, err)
	}
	shot, err := service.stats.snapshot()
	want := map[string]map[string]int64{"out.action": {"called": 1, "executed": 1}, "in.action": {"called": 1, "executed": 1}}
	if err != nil || !reflect.DeepEqual(shot.Branches, want) {
		t.Fatalf("got %v, %v; want %v", shot.Branches, err, want)
	}
	if shot.Global["started"] != 1 || shot.Global["committed"] != 1 || shot.Latency[Committed].Count != 1 {
		t.Fatalf("got %+v", shot)
	}
}

func TestStatusesOfTheEndpoints(t *testing.T) {
	service, server := empty(t)
	call := "/branch/in?account=1&amount=1&pairs=0&gid=g&branch_id=02&trans_type=saga&op="
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{"GET", "/saga?dtm=0&pairs=0", "COMMIT  \n", http.StatusOK},
		{"GET", "/saga?pears=0", "pears", http.StatusBadRequest},
		{"POST", call + "action&refuse=1", "FAILURE", http.StatusConflict},
		{"POST", call + "compensate&refuse=1", "SUCCESS", http.StatusOK},
		{"POST", call + "confirm", "op must be", http.StatusBadRequest},
		{"GET", "/reset", "", http.StatusMethodNotAllowed},
	} {
		if status, body := ask(t, c.method, server.URL+c.path); status != c.status || !strings.Contains(body, c.body) {
			t.Errorf("%s %s: got %d %q, want %d and %q", c.method, c.path, status, body, c.status, c.body)
		}
	}
	service.draining.Store(true)
	if status, _ := ask(t, "GET", server.URL+"/saga?dtm=0&pairs=0"); status != http.StatusServiceUnavailable {
		t.Errorf("a draining service takes no transaction, got %d", status)
	}
	if status, _ := ask(t, "POST", server.URL+call+"action"); status != http.StatusOK {
		t.Errorf("a draining service still serves branches, got %d", status)
	}
	if len(endings[Committed]) != len(endings[RolledBack]) {
		t.Error("the two ends must have bodies of one length")
	}
}

func ask(t *testing.T, method, address string) (int, string) {
	t.Helper()
	request, err := http.NewRequest(method, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

func TestBooksHold(t *testing.T) {
	good := Books{Accounts: 2, BalanceSum: 20, BalanceExpected: 20}
	if !good.holds() {
		t.Error("good books must hold")
	}
	for name, spoil := range map[string]func(*Books){
		"no accounts": func(k *Books) { k.Accounts = 0 }, "sum": func(k *Books) { k.BalanceSum++ },
		"log sum": func(k *Books) { k.LogSum-- }, "half a transfer": func(k *Books) { k.Unbalanced++ },
		"twice": func(k *Books) { k.Repeated++ }, "bare": func(k *Books) { k.BareCompensations++ },
		"off the log": func(k *Books) { k.OffLog++ },
	} {
		books := good
		if spoil(&books); books.holds() {
			t.Errorf("%s: must not hold", name)
		}
	}
}
