package hook

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/graph"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/hipdnn"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/plan/disk"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/routing"
)

// keptLimits bound the plans on disk.
var keptLimits = disk.Limits{Bytes: 256 << 20, Plans: 20_000}

// patience is how long a call waits for another process that builds the same plan. Builds take seconds; a
// process that was stopped in one must not stop the others.
const patience = time.Minute

// keeper has the plans on disk that one hipDNN made for one device.
type keeper struct {
	store *disk.Store
	// identity is a digest of all that a plan depends on besides the problem.
	identity [sha256.Size]byte
}

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
	store := b.store.Load()
	if store == nil {
		if store, err = disk.Open(b.settings.PlanCache.Dir, keptLimits); err != nil {
			return nil, err
		}
		b.store.Store(store)
	}
	b.timing(func() string {
		return "plans are kept in " + store.Dir() + " for " + strings.ReplaceAll(identity, "\n", "; ")
	})
	return &keeper{store, sha256.Sum256([]byte(identity))}, nil
}

// identity names what a plan depends on besides the problem: the device, hipDNN with its plugins, MIOpen,
// this library and all that they stand on, which engine is preferred, and the environment. That is the
// one of this moment: what a host sets after this library was opened is what engines see.
func (b *bridge) identity(h *handle, p *pair) (string, error) {
	device, err := p.engine.device.Identity(h.device)
	if err != nil {
		return "", err
	}
	var builds string
	err = h.on(p.engine.device, func() (err error) {
		builds, err = p.hipdnn.Identity(b.privateLibrary, b.ownFile)
		return err
	})
	if err != nil {
		return "", err
	}
	digest := routing.Parse(b.environment()).Digest
	return strings.Join([]string{device, builds, "prefers " + p.engine.preferred.name, fmt.Sprintf("environment %x", digest)}, "\n"), nil
}

// reportNotKept says, once, why plans are not kept: always if the user named the folder, otherwise to who
// wants to know much.
func (b *bridge) reportNotKept(err error) {
	var file *fs.PathError
	if errors.As(err, &file) { // the names of the files are nobody's concern
		err = fmt.Errorf("%s: %w", b.settings.PlanCache.Dir, file.Err)
	}
	if b.settings.PlanCache.Asked || b.settings.Timing || b.settings.Trace() {
		b.notKept.Do(func() {
			b.message("warning: plans are not kept for later processes: " + err.Error() + "; each process builds its own (" +
				routing.VarPlanCache + ")")
		})
	}
}

func (k *keeper) key(problem []byte) []byte { return slices.Concat(k.identity[:], problem) }

// What is kept is a plan, and before it why it is not of the engine that is preferred: the length of that
// text, 32 bits, and the text, which is empty if it is.

func encodeKept(refused string, bytes blueprint) []byte {
	kept := binary.LittleEndian.AppendUint32(nil, uint32(len(refused)))
	return append(append(kept, refused...), bytes...)
}

func decodeKept(kept []byte) (refused string, bytes blueprint, ok bool) {
	const length = 4
	if len(kept) < length {
		return "", nil, false
	}
	text := uint64(binary.LittleEndian.Uint32(kept))
	if kept = kept[length:]; text > uint64(len(kept)) {
		return "", nil, false
	}
	return string(kept[:text]), kept[text:], true
}

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
		defer k.store.Tidy()
		unlock, waited := k.store.Lock(key, patience)
		defer unlock()
		if waited > 0 {
			h.b.timing(func() string {
				return fmt.Sprintf("waited %v for another process that builds the plan, %s", waited, what())
			})
		}
		// Also without a wait: another process may just have been done.
		if own, bytes, found = h.load(p, k, key, g, what); found {
			unlock()
		}
	}
	if own != nil {
		return own, bytes, nil
	}
	if own, bytes, err = h.fresh(p, g, what); err != nil || found && len(bytes) == 0 {
		return own, bytes, err
	}
	refused := ""
	if own.Refused != nil {
		if !notSupported(own.Refused) {
			return own, bytes, nil // the engine that is preferred may be able to another time
		}
		refused = own.Refused.Error()
	}
	if failed := k.store.Save(key, encodeKept(refused, bytes)); failed != nil {
		h.b.reportNotKept(failed)
	}
	return own, bytes, nil
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
	kept, found := k.store.Load(key)
	if !found {
		return nil, nil, false
	}
	refused, bytes, ok := decodeKept(kept)
	if ok && len(bytes) == 0 {
		return nil, nil, true
	}
	read := time.Since(start)
	err := errNoPlan
	if ok {
		own, err = h.restore(p, bytes, g)
	}
	h.b.timing(func() string {
		return fmt.Sprintf("conv plan from disk: %v (read %v, restore %v), %s%s", time.Since(start), read, time.Since(start)-read,
			what(), failureSuffix(err))
	})
	if err != nil {
		k.store.Forget(key)
		h.b.loadFailures.Add(1)
		return nil, nil, false
	}
	h.b.loads.Add(1)
	if refused != "" {
		own.Refused = errors.New(refused)
		h.b.countRefusal(p, own)
	}
	return own, bytes, true
}

var errNoPlan = errors.New("no plan of this release")

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
	if store := b.store.Load(); store != nil {
		s := store.Statistics()
		kept.Dir, kept.Saves, kept.Broken, kept.Removed = store.Dir(), s.Saves, s.Broken, s.Removed
	}
	return kept
}
