package hook

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/graph"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/hipdnn"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/plan/disk"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/routing"
)

const (
	// keptBytes bounds the plans on disk.
	keptBytes = 256 << 20
	// patience is how long a call waits for another process that builds the same plan. Builds take
	// seconds; a process that was stopped in one must not stop the others.
	patience = time.Minute
)

// keeper has the plans on disk that one hipDNN made for one device.
type keeper struct {
	store *disk.Store
	// identity is a digest of all that a plan depends on besides the problem.
	identity [sha256.Size]byte
}

// keepers are those of the process, by device. One is nil where plans cannot be kept.
type keepers map[int]*keeper

// keeper returns the plans on disk for a handle, nil if there are none.
func (h *handle) keeper(p *pair) *keeper {
	b := h.b
	b.keeping.Lock()
	defer b.keeping.Unlock()
	k, known := b.keepers[h.device]
	if !known {
		var err error
		if k, err = b.newKeeper(h, p); err != nil {
			b.reportNotKept(err)
		}
		b.keepers[h.device] = k
	}
	return k
}

func (b *bridge) newKeeper(h *handle, p *pair) (*keeper, error) {
	if b.settings.PlanCache.Dir == "" {
		return nil, nil
	}
	identity, err := b.identity(h, p)
	if err != nil {
		return nil, err
	}
	if b.store == nil {
		if b.store, err = disk.Open(b.settings.PlanCache.Dir, keptBytes); err != nil {
			return nil, err
		}
	}
	b.timing(func() string {
		return "plans are kept in " + b.store.Dir() + " for " + strings.ReplaceAll(identity, "\n", "; ")
	})
	return &keeper{b.store, sha256.Sum256([]byte(identity))}, nil
}

// identity names what a plan depends on besides the problem: the device, hipDNN and its plugins, MIOpen
// and this library, which engine is preferred, and the environment.
func (b *bridge) identity(h *handle, p *pair) (string, error) {
	device, err := p.engine.device.Identity(h.device)
	if err != nil {
		return "", err
	}
	var backend string
	err = h.on(p.engine.device, func() (err error) {
		backend, err = p.hipdnn.Identity()
		return err
	})
	if err != nil {
		return "", err
	}
	parts := []string{device, backend, "prefers " + p.engine.preferred.name, fmt.Sprintf("environment %x", b.settings.Digest)}
	for _, file := range []string{b.privateLibrary, b.ownFile} {
		build, err := hipdnn.Build(file)
		if err != nil {
			return "", err
		}
		parts = append(parts, build)
	}
	return strings.Join(parts, "\n"), nil
}

// reportNotKept says why plans are not kept: always if the user named the folder, otherwise to who wants
// to know much.
func (b *bridge) reportNotKept(err error) {
	if b.settings.PlanCache.Asked || b.settings.Timing || b.settings.Trace() {
		b.sayOnce("warning: plans are not kept for later processes: " + err.Error() + "; each process builds its own (" +
			routing.VarPlanCache + ")")
	}
}

func (k *keeper) key(problem []byte) []byte { return slices.Concat(k.identity[:], problem) }

// blueprint returns a plan for a graph and the bytes from which other handles of the device can have it:
// one that another process has kept, or one that is built and kept. Of all processes one builds at a
// time. There are no bytes if the engine cannot serialise its plan; that is kept too, as a plan of no
// bytes, so that nobody waits for what he has to build himself.
func (h *handle) blueprint(p *pair, flat []byte, g *graph.Graph, what func() string) (own *hipdnn.Plan, bytes blueprint, err error) {
	k := h.keeper(p)
	if k == nil {
		return h.fresh(p, g, what)
	}
	key := k.key(flat)
	own, bytes, found := h.load(p, k, key, g, what)
	if !found {
		unlock, waited := k.store.Lock(key, patience)
		defer unlock()
		if waited {
			if own, bytes, found = h.load(p, k, key, g, what); found {
				unlock()
			}
		}
	}
	if own != nil {
		return own, bytes, nil
	}
	own, bytes, err = h.fresh(p, g, what)
	if err == nil && (!found || len(bytes) > 0) {
		if failed := k.store.Save(key, bytes); failed != nil {
			h.b.reportNotKept(failed)
		}
	}
	return own, bytes, err
}

// fresh builds a plan and serialises it.
func (h *handle) fresh(p *pair, g *graph.Graph, what func() string) (*hipdnn.Plan, blueprint, error) {
	own, err := h.compile(p, g, what)
	if err != nil {
		return nil, nil, err
	}
	bytes, err := own.Serialise()
	if err != nil {
		return own, nil, nil // no failure: not every engine can
	}
	return own, bytes, nil
}

// load restores the plan that another process has kept. Found without a plan: its engine cannot
// serialise it. What hipDNN does not take is not found, and goes.
func (h *handle) load(p *pair, k *keeper, key []byte, g *graph.Graph, what func() string) (own *hipdnn.Plan, bytes blueprint, found bool) {
	start := time.Now()
	bytes, found = k.store.Load(key)
	if len(bytes) == 0 {
		return nil, nil, found
	}
	loaded := time.Since(start)
	own, err := h.restore(p, bytes, g)
	h.b.timing(func() string {
		return fmt.Sprintf("conv plan from disk: %v (read %v, restore %v), %s%s", time.Since(start), loaded, time.Since(start)-loaded,
			what(), failureSuffix(err))
	})
	if err != nil {
		k.store.Forget(key)
		h.b.loadFailures.Add(1)
		return nil, nil, false
	}
	h.b.loads.Add(1)
	return own, bytes, true
}

// restore makes a plan from the bytes of another one.
func (h *handle) restore(p *pair, bytes []byte, g *graph.Graph) (restored *hipdnn.Plan, err error) {
	err = h.on(p.engine.device, func() (err error) {
		restored, err = p.hipdnn.Restore(bytes, g)
		return err
	})
	return restored, err
}

// forget takes a problem's plan from the disk. Its execution failed: should that be the plan's fault, no
// later process is to have it.
func (h *handle) forget(p *pair, problem []byte) {
	if k := h.keeper(p); k != nil {
		k.store.Forget(k.key(problem))
	}
}

// keptPlans returns the numbers of the plans on disk.
func (b *bridge) keptPlans() routing.KeptPlans {
	kept := routing.KeptPlans{Loads: b.loads.Load(), Refused: b.loadFailures.Load()}
	b.keeping.Lock()
	defer b.keeping.Unlock()
	if b.store != nil {
		s := b.store.Statistics()
		kept.Dir, kept.Saves, kept.Broken, kept.Removed = b.store.Dir(), s.Saves, s.Broken, s.Removed
	}
	return kept
}
