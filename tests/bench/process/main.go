// Command process measures what forwarding costs a whole process, from its start to its end: the first one, whose execution
// plan hipDNN builds, and later ones, which have it from the disk.
//
// The original investigation had 4.9 s for the first process, native or forwarded, and then 0.2 s native and 4.1 s forwarded,
// since every process built its plan again. What a build takes is hipDNN's, so here the reference backend is told to take
// two seconds. On the simulated device no kernel does anything, and hipDNN's executions do not either: what is measured is
// the host's. (The reference library computes on the host, so there native processes take longer than any other.)
//
// A process that forwards maps one more library, with Go in it, which takes some 20 ms. Beside a real process that is a part,
// beside the reference library's few milliseconds it is a multiple. So the same is measured with a build that takes no time,
// and nothing on disk: the least that forwarding costs.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/schollz/progressbar/v3"

	"example.com/miopen_hipdnn_shim/tests/bench/bar"
	"example.com/miopen_hipdnn_shim/tests/bench/subject"
	"example.com/miopen_hipdnn_shim/tests/runfile"
)

type arguments struct {
	subject.Flags
	Launches int           `help:"Processes of each kind." default:"30"`
	Calls    int           `help:"Convolutions in a process." default:"10"`
	Build    time.Duration `help:"What hipDNN takes to build a plan." default:"2s"`
}

func main() {
	var args arguments
	bar.Parse(&args, "What forwarding costs a process, the first and a later one.")
	bar.Run("process", func() (*bar.Report, error) { return measure(args) })
}

const timeout = 5 * time.Minute

// A kind of process.
type kind struct {
	name        string
	environment func(a arguments, kept string) []string
	plans       plans // of hipDNN, that it has to report
	sometimes   int   // it is measured in every so manieth round: 1 is all
}

type plans struct{ built, loaded float64 }

const (
	native = iota
	free
	first
	later
)

var kinds = [...]kind{
	native: {"native", func(arguments, string) []string { return nil }, plans{}, 1},
	free: {"forwarded, a build takes no time", func(arguments, string) []string {
		return []string{"MIOPEN_HIPDNN_PLAN_CACHE=off"}
	}, plans{built: 1}, 1},
	first: {"forwarded, the first", func(a arguments, _ string) []string {
		return []string{"MIOPEN_HIPDNN_PLAN_CACHE=off", "REFHIPDNN_PLAN_MS=" + strconv.FormatInt(a.Build.Milliseconds(), 10)}
	}, plans{built: 1}, 5},
	later: {"forwarded, later", func(a arguments, kept string) []string {
		return []string{"MIOPEN_HIPDNN_PLAN_CACHE=" + kept, "REFHIPDNN_PLAN_MS=" + strconv.FormatInt(a.Build.Milliseconds(), 10)}
	}, plans{loaded: 1}, 1},
}

func measure(args arguments) (*bar.Report, error) {
	s, err := args.Open()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	backend, err := runfile.Path("BACKEND")
	if err != nil {
		return nil, err
	}
	if err := s.Beside("BRIDGE", "SIMHIP"); err != nil {
		return nil, err
	}
	p := processes{s, args, backend, filepath.Join(s.Scratch(), "plans")}

	// The first of each is not counted. It warms MIOpen's caches and the machine's, and leaves the plan.
	if _, err := p.run(native); err != nil {
		return nil, err
	}
	if err := p.keep(); err != nil {
		return nil, err
	}
	var took [len(kinds)]bar.Samples
	progress := progressbar.NewOptions(args.Launches, progressbar.OptionSetWriter(os.Stderr), progressbar.OptionSetDescription("launches"))
	before := subject.Load()
	for launch := range args.Launches {
		for i := range kinds {
			k := (launch + i) % len(kinds)
			if launch%kinds[k].sometimes != 0 {
				continue
			}
			d, err := p.run(k)
			if err != nil {
				return nil, err
			}
			took[k] = append(took[k], float64(d.Microseconds())/1e3)
		}
		_ = progress.Add(1)
	}
	fmt.Fprintln(os.Stderr)

	var report bar.Report
	report.Row("load average, before and after", bar.Samples{before, subject.Load()}, "")
	for k := range kinds {
		report.Row(kinds[k].name, took[k], "ms")
	}
	report.Row("no time for a build / native", took[free].Over(took[native]), "x")
	report.Row("later / native", took[later].Over(took[native]), "x")
	report.Row("later / no time for a build", took[later].Over(took[free]), "x")
	report.RatioAtMost("later-process-kept", took[later].Over(took[free]), 1.10)
	floor := max(1, took[free].Over(took[native]).Median())
	report.RatioAtMost("later-process-native", took[later].Over(took[native]), 1.10*floor)
	return &report, nil
}

type processes struct {
	*subject.Subject
	args    arguments
	backend string
	kept    string // folder of the plans
}

// run starts a process of a kind and returns how long it took. One that did something else is an error.
func (p processes) run(k int) (time.Duration, error) { return p.start(k, kinds[k].plans) }

// keep is a process like the later ones that finds no plan, and leaves one.
func (p processes) keep() error {
	_, err := p.start(later, plans{built: 1})
	return err
}

func (p processes) start(k int, want plans) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	cmd, err := p.Command(ctx, true, p.Wrapper, strconv.Itoa(p.args.Calls))
	if err != nil {
		return 0, err
	}
	// The solver of which every MIOpen has the kernels.
	cmd.Env = append(cmd.Env, "MIOPEN_DEBUG_FIND_ONLY_SOLVER=ConvDirectNaiveConvFwd", "SIMHIP_EXECUTE=none", "REFHIPDNN_EXECUTE=none", "HIPDNN_BACKEND_LIBRARY_PATH="+p.backend)
	forwarded := 0
	if k != native {
		forwarded = p.args.Calls
		cmd.Env = append(cmd.Env, "MIOPEN_HIPDNN_FORWARDING=1")
	}
	cmd.Env = append(cmd.Env, kinds[k].environment(p.args, p.kept)...)
	start := time.Now()
	rows, err := subject.Read(cmd)
	took := time.Since(start)
	if err != nil {
		return 0, err
	}
	if len(rows) != 1 || len(rows[0].Values) != 3 {
		return 0, fmt.Errorf("the worker printed %v", rows)
	}
	if v := rows[0].Values; v[0] != float64(forwarded) || (plans{v[1], v[2]}) != want {
		return 0, fmt.Errorf("%s: %v calls forwarded, plans %v; it was to be %d and %v", kinds[k].name, v[0], plans{v[1], v[2]}, forwarded, want)
	}
	return took, nil
}
