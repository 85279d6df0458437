package hook

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/hipdnn"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/plan"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/plan/disk"
	"example.com/miopen_hipdnn_shim/hipdnnbridge/routing"
)

// host is what the bridge asks the wrapper for.
type host struct {
	message    func(line string) // with the wrapper's prefix
	writeLine  func(line string) // as it is
	nativeTime func(handle unsafe.Pointer) (milliseconds float32, known bool)
	// environment is the process's at the moment, a list of NAME=VALUE.
	environment func() []string
}

// bridge is the state of a process.
type bridge struct {
	host
	router   *routing.Router
	settings *routing.Settings
	wrapper  string // path
	// privateLibrary is the path of MIOpen's.
	privateLibrary string
	explicit       string // value of hipdnn.Variable
	measured       bool   // calls are timed on the host

	// findDevice finds the device that MIOpen uses.
	findDevice func() (hipdnn.Device, error)
	// opened is nil until the first call that is to be forwarded.
	opened  atomic.Pointer[engine]
	opening sync.Mutex

	// ownFile is this library's file, as the loader has it, "" if that is not known.
	ownFile string

	// handles are those that live, by MIOpen's handle. The map is replaced and never changed: handles
	// come and go seldom.
	handles  atomic.Pointer[map[unsafe.Pointer]*handle]
	handling sync.Mutex

	// blueprints are serialised plans, for further handles of the same device.
	blueprints *plan.Cache[blueprint]

	// keepers have the plans on disk by device, nil for one where plans cannot be kept; in store, which is
	// nil until there is one.
	keeping sync.Mutex
	keepers map[int]*keeper
	store   atomic.Pointer[disk.Store]
	notKept sync.Once
	// Plans that came from the disk, and those among what was there that hipDNN did not take.
	loads, loadFailures atomic.Uint64

	// Plans that were built or could not be, forwarded calls that had to wait for one, and what the
	// caches of handles counted that are gone.
	builds, buildFailures, cold, waits, evictions atomic.Uint64
	others                                        atomic.Uint64 // of builds, that the preferred engine refused

	finished atomic.Bool

	// said holds failures that were reported, so that each is reported once.
	saidMu sync.Mutex
	said   map[string]bool
	logged atomic.Uint64 // lines of hipDNN's log that were written or are too old
}

// engine is hipDNN and the device, or why they are not there.
type engine struct {
	backend *hipdnn.Backend
	device  hipdnn.Device
	err     error
	// preferred is the engine that is tried first.
	preferred preference
}

func newBridge(wrapper, privateLibrary string, h host) *bridge {
	environ := h.environment()
	settings := routing.Parse(environ)
	b := &bridge{
		host: h, router: routing.New(settings), settings: settings,
		wrapper: wrapper, privateLibrary: privateLibrary, said: map[string]bool{},
		blueprints: plan.New[blueprint](limits), keepers: map[int]*keeper{},
	}
	b.handles.Store(&map[unsafe.Pointer]*handle{})
	b.measured = settings.Timing || settings.Report.Wanted()
	b.findDevice = sync.OnceValues(func() (hipdnn.Device, error) { return hipdnn.OpenDevice(privateLibrary) })
	for _, entry := range environ {
		if value, ok := strings.CutPrefix(entry, hipdnn.Variable+"="); ok {
			b.explicit = value
			break
		}
	}
	for _, w := range settings.Warnings {
		b.message("warning: " + w)
	}
	return b
}

// engine returns hipDNN and the device. The first caller looks for them, which is done once.
func (b *bridge) engine() *engine {
	if e := b.opened.Load(); e != nil {
		return e
	}
	b.opening.Lock()
	defer b.opening.Unlock()
	if e := b.opened.Load(); e != nil {
		return e
	}
	e := b.open()
	if e.err != nil {
		b.reportUnavailable(e.err)
	}
	b.opened.Store(e)
	return e
}

func (b *bridge) open() *engine {
	device, err := b.findDevice()
	if err != nil {
		return &engine{err: err}
	}
	backend, err := hipdnn.Open(hipdnn.Search{Explicit: b.explicit, Beside: filepath.Dir(b.wrapper)})
	if err != nil {
		return &engine{err: err}
	}
	if err := backend.Fits(device); err != nil {
		return &engine{err: err}
	}
	return &engine{backend: backend, device: device, preferred: b.prefer(backend)}
}

// reportUnavailable says why nothing is forwarded: a line, and one for each path that was tried,
// since one line for all could be too long to be written whole.
func (b *bridge) reportUnavailable(err error) {
	consequence := "MIOpen serves every call"
	if b.settings.Policy == routing.Strict {
		consequence = "calls that were to be forwarded fail"
	}
	var search *hipdnn.OpenError
	if !errors.As(err, &search) {
		b.message("error: hipDNN cannot be used: " + err.Error() + "; " + consequence)
		return
	}
	b.message("error: hipDNN's backend library cannot be used; " + consequence +
		". Install hipDNN, or name its folder in " + hipdnn.Variable + ". Tried:")
	for _, a := range search.Attempts {
		b.message("  " + a.Name + ": " + a.Reason)
	}
}

// sayOnce writes a line about a failure, unless there was the same one before, or many others, and
// returns whether it did.
func (b *bridge) sayOnce(line string) bool {
	const most = 64
	b.saidMu.Lock()
	repeated := b.said[line] || len(b.said) > most
	full := len(b.said) == most && !repeated
	if !repeated {
		b.said[line] = true
	}
	b.saidMu.Unlock()
	switch {
	case full:
		b.message("warning: further failures of hipDNN are counted, not written")
	case !repeated:
		b.message(line)
		return true
	}
	return false
}

// lookup returns the handle, nil if its creation was not seen.
func (b *bridge) lookup(at unsafe.Pointer) *handle {
	return (*b.handles.Load())[at]
}

// setHandle makes a handle the one of that address, or none if it is nil, and returns the one before.
func (b *bridge) setHandle(at unsafe.Pointer, h *handle) (before *handle) {
	b.handling.Lock()
	defer b.handling.Unlock()
	next := maps.Clone(*b.handles.Load())
	before = next[at]
	if h == nil {
		delete(next, at)
	} else {
		next[at] = h
	}
	b.handles.Store(&next)
	return before
}

func (b *bridge) handleCreated(at unsafe.Pointer, stream uintptr) {
	if b.router.Decide(routing.ConvolutionForward, true).Route != routing.HipDNN {
		return // nothing is ever forwarded
	}
	h := &handle{b: b, at: at, stream: stream, device: b.currentDevice()}
	if old := b.setHandle(at, h); old != nil {
		// MIOpen would not give out an address that is in use: the end of the old one was not seen.
		b.closeHandle(old)
	}
	if b.settings.Eager {
		if e := b.engine(); e.err == nil {
			// Never the application's trouble: the error is kept, and is that of every call that is
			// to be forwarded.
			_, _ = h.paired(e)
		}
	}
}

// currentDevice is the thread's device, 0 where there is no choice or none can be made.
func (b *bridge) currentDevice() int {
	d, err := b.findDevice()
	if err != nil {
		return 0
	}
	current, err := d.Current()
	if err != nil {
		return 0
	}
	return current
}

func (b *bridge) handleDestroyed(at unsafe.Pointer) {
	if b.lookup(at) == nil {
		return
	}
	if h := b.setHandle(at, nil); h != nil {
		b.closeHandle(h)
	}
}

func (b *bridge) closeHandle(h *handle) {
	if b.finished.Load() {
		// The process is ending and the libraries may have been taken down: everything that a
		// handle holds goes with the process.
		return
	}
	h.close()
}

func (b *bridge) streamSet(at unsafe.Pointer, stream uintptr) {
	if h := b.lookup(at); h != nil {
		h.setStream(stream)
	}
}

func (b *bridge) profilingSet(at unsafe.Pointer, enabled bool) {
	if h := b.lookup(at); h != nil {
		h.setProfiling(enabled)
	}
}

func (b *bridge) kernelTime(at unsafe.Pointer, native float32) float32 {
	if h := b.lookup(at); h != nil {
		return h.kernelTime(native)
	}
	return native
}

func (b *bridge) servedNatively(at unsafe.Pointer) {
	if h := b.lookup(at); h != nil {
		h.forgetTime()
	}
}

// reportFailure writes a line about an error of hipDNN, unless MIOpen's log level forbids it.
func (b *bridge) reportFailure(entry routing.Entry, err error, consequence string) {
	if !b.settings.FailureLines() {
		return
	}
	if !b.sayOnce("warning: " + entry.String() + ": " + err.Error() + "; " + consequence) {
		return
	}
	var call *hipdnn.Error
	if !errors.As(err, &call) {
		return
	}
	for _, line := range hipdnn.LogSince(b.logged.Swap(hipdnn.LogCount())) {
		b.message("  hipDNN's log: " + strings.ReplaceAll(strings.TrimSpace(line), "\n", " "))
	}
}

// statistics are the numbers for struct miopen_bridge_statistics.
type statistics struct {
	forwarded, native, failed, hits, builds, loads uint64
}

func (b *bridge) statistics() (s statistics) {
	s.forwarded, s.native, s.failed = b.router.Totals()
	plans := b.allPlans()
	s.hits, s.builds, s.loads = plans.Hits, plans.Builds, plans.Kept.Loads
	return s
}

// allPlans returns the numbers of all plans so far.
func (b *bridge) allPlans() routing.Plans {
	forwarded, _, _ := b.router.Totals()
	others := b.others.Load() // before the builds, of which they are a part
	sum := routing.Plans{
		Hits:   forwarded - min(forwarded, b.cold.Load()),
		Builds: b.builds.Load(), Failures: b.buildFailures.Load(),
		Waits: b.blueprints.Statistics().Waits + b.waits.Load(), Evictions: b.evictions.Load(),
		Others: others, Kept: b.keptPlans(),
	}
	if e := b.opened.Load(); e != nil {
		sum.Engine = e.preferred.name
	}
	for _, h := range *b.handles.Load() {
		if p := h.pair.Load(); p != nil {
			s := p.plans.Statistics()
			sum.Waits += s.Waits
			sum.Evictions += s.Evictions
		}
	}
	return sum
}

// keepPlans adds the numbers of a handle that goes.
func (b *bridge) keepPlans(s plan.Statistics) {
	b.waits.Add(s.Waits)
	b.evictions.Add(s.Evictions)
}

// finish writes what was asked for at the process's end.
func (b *bridge) finish() {
	b.finished.Store(true)
	to := b.settings.Report
	if !to.Wanted() {
		return
	}
	report := b.router.Report(b.allPlans())
	if to.Path != "" {
		err := disk.Writable(len(report))
		if err == nil {
			err = os.WriteFile(to.Path, []byte(report), 0o644)
		}
		if err != nil {
			b.message("warning: the report cannot be written: " + err.Error())
		}
		return
	}
	for _, line := range strings.Split(strings.TrimRight(report, "\n"), "\n") {
		b.message(line)
	}
}
