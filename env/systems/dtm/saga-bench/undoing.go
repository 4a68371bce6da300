package main

import "sync"

// undoing counts, for the sagas in flight, the branches whose compensation has been done.
type undoing struct {
	mu       sync.Mutex
	branches map[string]map[string]bool
}

func newUndoing() *undoing { return &undoing{branches: map[string]map[string]bool{}} }

func (u *undoing) expect(gid string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.branches[gid] = nil
}

// done notes a branch's compensation; one of a saga that nobody waits for any more is not kept.
func (u *undoing) done(gid, branch string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	known, waited := u.branches[gid]
	if !waited {
		return
	}
	if known == nil {
		known = map[string]bool{}
		u.branches[gid] = known
	}
	known[branch] = true
}

func (u *undoing) count(gid string) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.branches[gid])
}

func (u *undoing) forget(gid string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.branches, gid)
}
