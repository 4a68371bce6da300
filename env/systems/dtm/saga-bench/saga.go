package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/dtm-labs/dtm/client/dtmcli"
)

// The two branches, in the order in which they run; DTM numbers them 01 and 02.
var steps = [2]string{"out", "in"}

const amountPerPair = 1

// Transfer is one global transaction: money from one account to another.
type Transfer struct {
	Gid      string
	From, To int
	Refuse   bool // its TransIn branch is to answer FAILURE
	Rung     Rung
}

// newTransfer draws two different accounts, so that row locks are rarely waited for, and whether TransIn refuses.
func newTransfer(gid string, rung Rung, accounts int) Transfer {
	from := rand.IntN(accounts)
	to := (from + 1 + rand.IntN(accounts-1)) % accounts
	return Transfer{Gid: gid, From: from + 1, To: to + 1, Refuse: rand.Float64() < rung.FailRatio, Rung: rung}
}

// branchURL is where a step's action and its compensation are called; DTM adds gid, branch_id, op and trans_type.
func (t Transfer) branchURL(base, step string) string {
	account, amount := t.From, -amountPerPair
	if step == "in" {
		account, amount = t.To, amountPerPair
	}
	query := url.Values{"account": {strconv.Itoa(account)}, "amount": {strconv.Itoa(amount)}, "pairs": {strconv.Itoa(t.Rung.Pairs)}}
	if t.Rung.Barrier {
		query.Set("barrier", "1")
	}
	if t.Refuse && step == "in" {
		query.Set("refuse", "1")
	}
	return base + "/branch/" + step + "?" + query.Encode()
}

// Coordinator runs global transactions to their end.
type Coordinator struct {
	config      Config
	client      *http.Client
	undoing     *undoing
	resubmitted atomic.Int64 // sagas submitted again after a deadlock in DTM's store
}

// deadlocked is how DTM passes on errorDeadlock of its store. Submits that met once are likely to meet again at once.
const (
	deadlocked   = "Error 1213 "
	submits      = 20
	longestPause = 10 * time.Millisecond
)

func newCoordinator(c Config) *Coordinator {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil
	transport.MaxIdleConns = 0 // no limit over all servers
	transport.MaxIdleConnsPerHost = c.HTTPIdle
	dtmcli.GetRestyClient().SetTransport(transport).SetTimeout(c.Timeout)
	return &Coordinator{config: c, client: &http.Client{Transport: transport, Timeout: c.Timeout}, undoing: newUndoing()}
}

func (c *Coordinator) run(ctx context.Context, t Transfer) (Outcome, error) {
	if t.Rung.DTM {
		return c.runDTM(t)
	}
	return c.runDirect(ctx, t)
}

func (c *Coordinator) runDTM(t Transfer) (Outcome, error) {
	c.undoing.expect(t.Gid)
	defer c.undoing.forget(t.Gid)
	saga := dtmcli.NewSaga(c.config.DTMServer, t.Gid)
	saga.WaitResult = true
	saga.RetryInterval = c.config.RetryIntervalS
	for _, step := range steps {
		there := t.branchURL(c.config.Advertise, step)
		saga.Add(there, there, struct{}{})
	}
	err := c.submitted(saga.Submit)
	return classify(err, c.undoing.count(t.Gid))
}

// submitted hands a saga to DTM, and again while DTM's store answers with a deadlock: then nothing of it was written.
func (c *Coordinator) submitted(submit func() error) (err error) {
	for range submits {
		if err = submit(); err == nil || !strings.Contains(err.Error(), deadlocked) {
			return err
		}
		c.resubmitted.Add(1)
		time.Sleep(rand.N(longestPause))
	}
	return err
}

// classify reads the end of a saga from DTM's answer. DTM answers FAILURE for a saga that is rolled back, for one that
// still waits for a retry, and for one whose compensation is still owed: only the first has ended.
func classify(err error, compensated int) (Outcome, error) {
	switch {
	case err == nil:
		return Committed, nil
	case !strings.Contains(err.Error(), errRefused.Error()):
		return Failed, fmt.Errorf("DTM: %w", err)
	case compensated < len(steps):
		return Failed, fmt.Errorf("DTM: rolled back %d of %d branches so far: %w", compensated, len(steps), err)
	}
	return RolledBack, nil
}

// runDirect calls both branches over HTTP, one after the other, as the report does without DTM.
func (c *Coordinator) runDirect(ctx context.Context, t Transfer) (Outcome, error) {
	for i, step := range steps {
		query := url.Values{"gid": {t.Gid}, "branch_id": {fmt.Sprintf("%02d", i+1)}, "op": {"action"}, "trans_type": {"none"}}
		if err := c.post(ctx, t.branchURL(c.config.Advertise, step)+"&"+query.Encode()); err != nil {
			return Failed, fmt.Errorf("branch %s: %w", step, err)
		}
	}
	return Committed, nil
}

func (c *Coordinator) post(ctx context.Context, address string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader("{}"))
	if err != nil {
		return err
	}
	response, err := c.client.Do(request)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(response.Body) // to its end, so that the connection can be used again
	if closing := response.Body.Close(); err == nil {
		err = closing
	}
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %s", response.StatusCode, body)
	}
	return err
}
