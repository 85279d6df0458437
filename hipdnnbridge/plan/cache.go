// Package plan keeps built plans in memory.
//
// A cache is bounded by the number of plans and by the bytes that they hold; the least recently used
// ones go first. A plan that is in use when it goes is closed by its last user. For each key there is
// one builder at a time: who wants the same plan meanwhile waits for it, nobody else does.
//
// The package knows nothing of what a plan is, and of a key only its bytes.
//
// Finding a plan takes no lock: readers look in a table that is never changed but replaced. All
// changes are made under one mutex, which is not held while plans are built or closed.
package plan

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"
)

// Plan is what a cache holds.
type Plan interface {
	// Bytes is the memory that the plan holds as long as it lives. It is asked for once.
	Bytes() int64
	// Close ends the plan, which nobody uses any more. It is called once, by whichever thread gave
	// the plan up last, with no lock held.
	Close()
}

// Limits bound a cache. A limit of zero or less is none.
type Limits struct {
	Plans int
	Bytes int64
}

// ErrClosed is returned by a cache that was closed.
var ErrClosed = errors.New("plan: the cache is closed")

// Source is where a plan came from.
type Source uint8

// The sources.
const (
	Hit    Source = iota // it was there
	Waited               // another caller was building it
	Built                // this caller built it
)

// Statistics are counts since the cache was made. Plans that were found are the callers' to count.
type Statistics struct {
	Waits, Builds, Failures, Evictions uint64
	Plans                              int
	Bytes                              int64
}

// Entry is a plan in use. It is the caller's until Release.
type Entry[P Plan] struct {
	key   Key
	plan  P
	bytes int64
	// users counts who uses the plan, the cache being one of them. At zero the plan is closed, and
	// no one can become its user any more.
	users atomic.Int64
	used  atomic.Uint64 // time of the last use
	gone  atomic.Bool   // the cache has given it up
}

// Plan returns the plan, which must not be used after Release.
func (e *Entry[P]) Plan() P { return e.plan }

// Release gives the plan back. It may be called once.
func (e *Entry[P]) Release() {
	if e.users.Add(-1) == 0 {
		e.plan.Close()
	}
}

// acquire makes the caller a user, unless the plan has already lost its last one.
func (e *Entry[P]) acquire() bool {
	for {
		n := e.users.Load()
		if n == 0 {
			return false
		}
		if e.users.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// table finds entries by the hashes of their keys: an entry is at its hash, modulo the length, which is a
// power of two, or at one of the places that follow, up to the first that is free. At least half are.
type table[P Plan] []*Entry[P]

func tableOf[P Plan](entries []*Entry[P]) table[P] {
	size := 2
	for size < 2*len(entries) {
		size *= 2
	}
	t := make(table[P], size)
	for _, e := range entries {
		i := e.key.hash & uint64(size-1)
		for t[i] != nil {
			i = (i + 1) & uint64(size-1)
		}
		t[i] = e
	}
	return t
}

func (t table[P]) find(hash uint64, key []byte) *Entry[P] {
	last := uint64(len(t) - 1)
	for i := hash & last; ; i = (i + 1) & last {
		if e := t[i]; e == nil || e.key.is(hash, key) {
			return e
		}
	}
}

// entries are those of the table but one, in no order.
func (t table[P]) entries(but *Entry[P]) (list []*Entry[P]) {
	for _, e := range t {
		if e != nil && e != but {
			list = append(list, e)
		}
	}
	return list
}

// build is a plan that is being built.
type build[P Plan] struct {
	done    chan struct{}
	waiters int64
	entry   *Entry[P] // set before done is closed
	err     error
}

// Cache keeps plans by key. Use New.
type Cache[P Plan] struct {
	limits Limits
	table  atomic.Pointer[table[P]]
	clock  atomic.Uint64
	closed atomic.Bool
	// recent is the entry that was found last, or one that is gone: callers often want one plan many
	// times, and to compare two keys takes a fraction of what hashing one does.
	recent atomic.Pointer[Entry[P]]

	mu       sync.Mutex
	building map[Key]*build[P]
	stats    Statistics
}

// New returns an empty cache.
func New[P Plan](limits Limits) *Cache[P] {
	if limits.Plans <= 0 {
		limits.Plans = math.MaxInt
	}
	if limits.Bytes <= 0 {
		limits.Bytes = math.MaxInt64
	}
	c := &Cache[P]{limits: limits, building: map[Key]*build[P]{}}
	c.clear()
	return c
}

// clear takes all plans out of the table and returns it.
func (c *Cache[P]) clear() *table[P] {
	none := tableOf[P](nil)
	return c.table.Swap(&none)
}

// Get returns the plan of a key, nil if there is none. It neither allocates nor locks.
func (c *Cache[P]) Get(k *Key) *Entry[P] { return c.get(k.hash, k.Bytes()) }

// Find is Get for the key that consists of these bytes, which are read where they are.
func (c *Cache[P]) Find(key []byte) *Entry[P] {
	if e := c.recent.Load(); e != nil && bytes.Equal(e.key.Bytes(), key) && !e.gone.Load() && e.acquire() {
		return e
	}
	return c.get(hashOf(key), key)
}

func (c *Cache[P]) get(hash uint64, key []byte) *Entry[P] {
	e := c.table.Load().find(hash, key)
	if e == nil || !e.acquire() {
		return nil
	}
	// The one used last stays so without a write, which keeps the line shared among threads that
	// all use one plan.
	if now := c.clock.Load(); e.used.Load() != now {
		e.used.Store(c.clock.Add(1))
	}
	if c.recent.Load() != e {
		c.recent.Store(e)
	}
	return e
}

// GetOrBuild returns the plan of a key, and has it built if there is none. Build is called with no
// lock held, by one caller at a time for each key; the others get its plan or its error. An error is
// not kept: the next call builds again.
func (c *Cache[P]) GetOrBuild(k *Key, build func() (P, error)) (*Entry[P], Source, error) {
	if e := c.Get(k); e != nil {
		return e, Hit, nil
	}
	return c.miss(k, build)
}

func (c *Cache[P]) miss(k *Key, builder func() (P, error)) (*Entry[P], Source, error) {
	c.mu.Lock()
	if c.closed.Load() {
		c.mu.Unlock()
		return nil, Built, ErrClosed
	}
	if e := c.Get(k); e != nil { // it was built between the look and the lock
		c.mu.Unlock()
		return e, Hit, nil
	}
	if b := c.building[*k]; b != nil {
		b.waiters++
		c.stats.Waits++
		c.mu.Unlock()
		<-b.done
		return b.entry, Waited, b.err
	}
	b := &build[P]{done: make(chan struct{})}
	c.building[*k] = b
	c.stats.Builds++
	c.mu.Unlock()
	return c.build(k, b, builder)
}

func (c *Cache[P]) build(k *Key, b *build[P], builder func() (P, error)) (*Entry[P], Source, error) {
	returned := false
	defer func() {
		if !returned { // a panic must not leave the others waiting
			c.finish(k, b, nil, errors.New("plan: the builder of another call did not return"))
		}
	}()
	p, err := builder()
	var e *Entry[P]
	if err == nil {
		e = &Entry[P]{key: *k, plan: p, bytes: p.Bytes()}
	}
	returned = true
	c.finish(k, b, e, err)
	return e, Built, err
}

// finish hands the outcome of a build to those who wait for it and keeps the plan.
func (c *Cache[P]) finish(k *Key, b *build[P], e *Entry[P], err error) {
	c.mu.Lock()
	delete(c.building, *k)
	b.entry, b.err = e, err
	var evicted []*Entry[P]
	if e == nil {
		c.stats.Failures++
	} else {
		e.users.Store(1 + b.waiters) // nobody can begin to wait any more
		e.used.Store(c.clock.Add(1))
		// A plan that is too large by itself would empty the cache and not fit even so.
		if !c.closed.Load() && e.bytes <= c.limits.Bytes {
			e.users.Add(1)
			evicted = c.insert(e)
		}
	}
	c.mu.Unlock()
	close(b.done)
	for _, old := range evicted {
		old.Release()
	}
}

// insert puts an entry into a new table and returns those that had to go. It takes time in proportion
// to the number of plans, which is nothing beside building one.
func (c *Cache[P]) insert(e *Entry[P]) (evicted []*Entry[P]) {
	kept := c.table.Load().entries(nil)
	c.stats.Plans++
	c.stats.Bytes += e.bytes
	for c.stats.Plans > c.limits.Plans || c.stats.Bytes > c.limits.Bytes {
		oldest := 0
		for i := range kept {
			if kept[i].used.Load() < kept[oldest].used.Load() {
				oldest = i
			}
		}
		kept[oldest].gone.Store(true)
		evicted = append(evicted, kept[oldest])
		c.stats.Plans--
		c.stats.Bytes -= kept[oldest].bytes
		c.stats.Evictions++
		kept = slices.Delete(kept, oldest, oldest+1)
	}
	next := tableOf(append(kept, e))
	c.table.Store(&next)
	return evicted
}

// Drop gives a plan up that is in use, so that the next one who asks for its key has it built again.
func (c *Cache[P]) Drop(e *Entry[P]) {
	c.mu.Lock()
	there := c.table.Load().find(e.key.hash, e.key.Bytes()) == e
	if there {
		next := tableOf(c.table.Load().entries(e))
		c.stats.Plans--
		c.stats.Bytes -= e.bytes
		e.gone.Store(true)
		c.table.Store(&next)
	}
	c.mu.Unlock()
	if there {
		e.Release()
	}
}

// Close gives up all plans: those not in use are closed before it returns, the others by their last
// users. Plans that are being built go to whoever waits for them and are not kept. After it the cache
// has no plans and builds none.
func (c *Cache[P]) Close() {
	c.mu.Lock()
	c.closed.Store(true)
	old := c.clear()
	c.stats.Plans, c.stats.Bytes = 0, 0
	c.mu.Unlock()
	for _, e := range old.entries(nil) {
		e.gone.Store(true)
		e.Release()
	}
}

// Statistics returns what was counted so far.
func (c *Cache[P]) Statistics() Statistics {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stats
}
