package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/dtm-labs/dtm/client/dtmcli"
	"github.com/go-sql-driver/mysql"
)

// MySQL's errors that ask for the transaction to be run again.
const (
	errorDeadlock        = 1213
	errorLockWaitTimeout = 1205
	attempts             = 5
)

// errRefused is the planned failure of a branch; DTM is answered FAILURE and rolls the global transaction back.
var errRefused = errors.New("refused as planned")

// Bank is the business's database: accounts, and a log of every change to them.
type Bank struct {
	db             *sql.DB
	accounts       int
	initialBalance int64
	insertLog      string
	updateBalance  string
	name           string
	retried        atomic.Int64 // DB transactions run again after a deadlock or a lock wait that was too long
}

// BranchCall is one call of one operation of one branch, as its URL says.
type BranchCall struct {
	Step, Gid, BranchID, Op, TransType string
	Account, Pairs                     int
	Amount                             int64 // signed: what the account gains
	Barrier, Refuse                    bool
}

func openBank(c Config) (*Bank, error) {
	settings := mysql.NewConfig()
	settings.Net, settings.Addr, settings.User, settings.Passwd = "tcp", c.DBAddress, c.DBUser, c.DBPassword
	settings.InterpolateParams = true // one round trip for each statement, as DTM's own connections do
	settings.Timeout = 5 * time.Second
	connector, err := mysql.NewConnector(settings)
	if err != nil {
		return nil, fmt.Errorf("database settings: %w", err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(c.DBConns)
	db.SetMaxIdleConns(c.DBConns)
	return &Bank{
		db: db, accounts: c.Accounts, initialBalance: c.InitialBalance, name: c.DBName,
		insertLog: fmt.Sprintf("INSERT INTO %s.account_log (gid, branch_id, op, seq, account_id, amount)"+
			" VALUES (?, ?, ?, ?, ?, ?)", c.DBName),
		updateBalance: fmt.Sprintf("UPDATE %s.account SET balance = balance + ?, updated_at = NOW() WHERE id = ?", c.DBName),
	}, nil
}

// branchCallFrom reads a call from the URL that `Transfer.branchURL` made and the parameters that DTM (or the direct
// caller) added to it. A compensation moves the money back.
func branchCallFrom(step string, query url.Values) (BranchCall, error) {
	account, errAccount := strconv.Atoi(query.Get("account"))
	amount, errAmount := strconv.ParseInt(query.Get("amount"), 10, 64)
	pairs, errPairs := strconv.Atoi(query.Get("pairs"))
	call := BranchCall{Step: step, Gid: query.Get("gid"), BranchID: query.Get("branch_id"), Op: query.Get("op"),
		TransType: query.Get("trans_type"), Account: account, Amount: amount, Pairs: pairs,
		Barrier: query.Get("barrier") == "1", Refuse: query.Get("refuse") == "1"}
	if err := errors.Join(errAccount, errAmount, errPairs); err != nil {
		return call, err
	}
	if call.Gid == "" || call.BranchID == "" {
		return call, errors.New("gid and branch_id are missing")
	}
	switch call.Op {
	case "action":
	case "compensate":
		call.Amount, call.Refuse = -call.Amount, false
	default:
		return call, fmt.Errorf("op must be action or compensate, got %q", call.Op)
	}
	return call, nil
}

// apply runs the call in one DB transaction; executed is false where the barrier held it back. A deadlock is the
// database's request to try again, so it does not travel to DTM, which would wait for its retry interval.
func (b *Bank) apply(ctx context.Context, call BranchCall) (executed bool, err error) {
	for range attempts {
		if executed, err = b.applyOnce(ctx, call); !isTransient(err) {
			return executed, err
		}
		b.retried.Add(1)
	}
	return false, err
}

func (b *Bank) applyOnce(ctx context.Context, call BranchCall) (executed bool, err error) {
	business := func(tx *sql.Tx) error {
		executed = true
		return b.write(ctx, tx, call)
	}
	tx, err := b.db.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	if call.Barrier {
		barrier, err := dtmcli.BarrierFrom(call.TransType, call.Gid, call.BranchID, call.Op)
		if err != nil {
			return false, errors.Join(err, tx.Rollback())
		}
		err = barrier.Call(tx, business)
		return executed, err
	}
	if err := business(tx); err != nil {
		return executed, errors.Join(err, tx.Rollback())
	}
	return executed, tx.Commit()
}

func (b *Bank) write(ctx context.Context, tx *sql.Tx, call BranchCall) error {
	if call.Refuse {
		return errRefused
	}
	for seq := range call.Pairs {
		if _, err := tx.ExecContext(ctx, b.insertLog, call.Gid, call.BranchID, call.Op, seq, call.Account, call.Amount); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, b.updateBalance, call.Amount, call.Account); err != nil {
			return err
		}
	}
	return nil
}

func isTransient(err error) bool {
	var answer *mysql.MySQLError
	return errors.As(err, &answer) && (answer.Number == errorDeadlock || answer.Number == errorLockWaitTimeout)
}
