package main

import (
	"context"
	"fmt"
	"strings"
)

const (
	barrierDatabase, barrierTable = "dtm_barrier", "barrier"
	rowsPerInsert                 = 1000
)

// schema makes the business's tables anew. The log has two secondary indexes, as a log that is searched has.
func (b *Bank) schema() []string {
	return []string{
		"CREATE DATABASE IF NOT EXISTS " + b.name,
		"DROP TABLE IF EXISTS " + b.name + ".account_log",
		"DROP TABLE IF EXISTS " + b.name + ".account",
		"CREATE TABLE " + b.name + `.account (
			id INT NOT NULL PRIMARY KEY,
			balance BIGINT NOT NULL,
			updated_at DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP
		) ENGINE = InnoDB`,
		"CREATE TABLE " + b.name + `.account_log (
			id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
			gid VARCHAR(64) NOT NULL,
			branch_id VARCHAR(16) NOT NULL,
			op VARCHAR(16) NOT NULL,
			seq INT NOT NULL,
			account_id INT NOT NULL,
			amount BIGINT NOT NULL,
			created_at DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
			KEY by_account (account_id),
			KEY by_time (created_at)
		) ENGINE = InnoDB`,
	}
}

// reset makes the tables anew, fills the accounts and empties DTM's barrier table where there is one.
func (b *Bank) reset(ctx context.Context) error {
	for _, statement := range b.schema() {
		if _, err := b.db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("schema: %w", err)
		}
	}
	for first := 1; first <= b.accounts; first += rowsPerInsert {
		last := min(first+rowsPerInsert-1, b.accounts)
		if _, err := b.db.ExecContext(ctx, b.fill(first, last)); err != nil {
			return fmt.Errorf("accounts %d to %d: %w", first, last, err)
		}
	}
	return b.emptyBarrier(ctx)
}

func (b *Bank) fill(first, last int) string {
	rows := make([]string, 0, last-first+1)
	for id := first; id <= last; id++ {
		rows = append(rows, fmt.Sprintf("(%d, %d)", id, b.initialBalance))
	}
	return fmt.Sprintf("INSERT INTO %s.account (id, balance) VALUES %s", b.name, strings.Join(rows, ", "))
}

func (b *Bank) emptyBarrier(ctx context.Context) error {
	var tables int
	found := b.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.tables"+
		" WHERE table_schema = ? AND table_name = ?", barrierDatabase, barrierTable)
	if err := found.Scan(&tables); err != nil || tables == 0 {
		return err
	}
	_, err := b.db.ExecContext(ctx, "TRUNCATE TABLE "+barrierDatabase+"."+barrierTable)
	return err
}

// Books is the body of /check: what the tables say after a load. Counts of things that must not be are 0 in good books.
type Books struct {
	Holds             bool  `json:"holds"`
	Accounts          int64 `json:"accounts"`
	BalanceSum        int64 `json:"balance_sum"`
	BalanceExpected   int64 `json:"balance_expected"`
	LogRows           int64 `json:"log_rows"`
	LogSum            int64 `json:"log_sum"`
	Unbalanced        int64 `json:"unbalanced_transactions"`       // global transactions whose amounts do not cancel out
	Repeated          int64 `json:"repeated_steps"`                // steps of a branch operation that are in the log twice or more
	BareCompensations int64 `json:"bare_compensations"`            // branches compensated with no action before
	OffLog            int64 `json:"accounts_not_matching_the_log"` // balance is not the initial one plus its log
}

// check audits the tables; it reads them whole and is not for use under load.
func (b *Bank) check(ctx context.Context) (Books, error) {
	var books Books
	for _, question := range b.questions(&books) {
		if err := b.db.QueryRowContext(ctx, question.query, question.arguments...).Scan(question.into...); err != nil {
			return books, err
		}
	}
	books.BalanceExpected = books.Accounts * b.initialBalance
	books.Holds = books.holds()
	return books, nil
}

func (k Books) holds() bool {
	return k.Accounts > 0 && k.BalanceSum == k.BalanceExpected && k.LogSum == 0 &&
		k.Unbalanced == 0 && k.Repeated == 0 && k.BareCompensations == 0 && k.OffLog == 0
}

type question struct {
	query           string
	arguments, into []any
}

func (b *Bank) questions(books *Books) []question {
	account, log := b.name+".account", b.name+".account_log"
	return []question{
		{"SELECT COUNT(*), COALESCE(SUM(balance), 0) FROM " + account, nil, []any{&books.Accounts, &books.BalanceSum}},
		{"SELECT COUNT(*), COALESCE(SUM(amount), 0) FROM " + log, nil, []any{&books.LogRows, &books.LogSum}},
		{"SELECT COUNT(*) FROM (SELECT gid FROM " + log + " GROUP BY gid HAVING SUM(amount) <> 0) AS t",
			nil, []any{&books.Unbalanced}},
		{"SELECT COUNT(*) FROM (SELECT gid FROM " + log + " GROUP BY gid, branch_id, op, seq HAVING COUNT(*) > 1) AS t",
			nil, []any{&books.Repeated}},
		{"SELECT COUNT(*) FROM (SELECT MAX(IF(op = 'action', id, NULL)) AS action, MIN(IF(op = 'compensate', id, NULL)) AS undone" +
			" FROM " + log + " GROUP BY gid, branch_id HAVING undone IS NOT NULL AND (action IS NULL OR action > undone)) AS t",
			nil, []any{&books.BareCompensations}},
		{"SELECT COUNT(*) FROM " + account + " AS a LEFT JOIN (SELECT account_id, SUM(amount) AS moved FROM " + log +
			" GROUP BY account_id) AS l ON l.account_id = a.id WHERE a.balance <> ? + COALESCE(l.moved, 0)",
			[]any{b.initialBalance}, []any{&books.OffLog}},
	}
}
