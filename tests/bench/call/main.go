// Command call measures what a call through the wrapper costs more than a call of the implementation itself, beside what
// the usual ways of writing such a wrapper cost, and the calls of an application on the stock library and on its split.
//
// Where the loader puts the libraries moves the results by more than the wrapper costs. So everything that is compared is
// measured in one process, in interleaved blocks; a process gives one number per comparison, the median over its rounds;
// and the result is the median over many processes.
package main

import (
	"debug/elf"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"

	"github.com/schollz/progressbar/v3"

	"example.com/miopen_hipdnn_shim/shim/exports"
	"example.com/miopen_hipdnn_shim/tests/bench/bar"
	"example.com/miopen_hipdnn_shim/tests/bench/subject"
	"example.com/miopen_hipdnn_shim/tests/runfile"
)

type arguments struct {
	subject.Flags
	Launches int     `help:"Processes." default:"20"`
	Rounds   int     `help:"Rounds in a process, one block of each variant each." default:"200"`
	Block    float64 `help:"Milliseconds of a block. Short ones are seldom interrupted." default:"0.2"`
}

func main() {
	var args arguments
	bar.Parse(&args, "Cost of a call through the wrapper, against the implementation and against other wrappers.")
	bar.Run("call", func() (*bar.Report, error) { return measure(args) })
}

// variant is what the worker takes as one.
type variant struct{ name, library, function string }

// function is the cheapest entry point: it stores three numbers.
const function = "miopenGetVersion"

const (
	noop        = "noop"
	direct      = "direct"
	stub        = "stub"
	plt         = "plt"          // a C++ stub, which the compiler makes a jump to the procedure linkage table
	pltReturn   = "plt-return"   // the same as a call and a return, as stubs are that do anything after the call
	staticRoute = "static-route" // a C++ stub that asks a function-local static where to go

	getVersion    = "getversion"
	createDestroy = "create+destroy"
)

func measure(args arguments) (*bar.Report, error) {
	s, err := args.Open()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	hops, err := hopVariants(s)
	if err != nil {
		return nil, err
	}
	pair := objects(s)

	before := subject.Load()
	hop, crowded, err := args.hops(s, hops)
	if err != nil {
		return nil, err
	}
	api, err := args.api(s, pair)
	if err != nil {
		return nil, err
	}

	var report bar.Report
	report.Row("load average, before and after", bar.Samples{before, subject.Load()}, "")
	report.Row("launches set aside, on a shared core", bar.Samples{float64(crowded)}, "")
	for _, v := range hops {
		report.Row("call, "+v.name, hop[v.name].call, "ns")
	}
	for _, v := range hops {
		if v.name != direct && v.name != noop {
			report.Row("hop, "+v.name+" - direct", hop[v.name].hop, "ns")
		}
	}
	for _, name := range []string{noop, getVersion, createDestroy} {
		what := name
		if name == createDestroy {
			what = pair
		}
		report.Row("stock, "+what, api[0][name], "ns")
		report.Row("split, "+what, api[1][name], "ns")
		report.Row("split - stock, "+what, api[1][name].Minus(api[0][name]), "ns")
	}
	_, upper := hop[stub].hop.Interval()
	// The peer is the stub that calls and returns, as the investigation's did; the tail jump that a compiler may make of
	// one is in the table. It costs one cycle, like ours, so nothing can be 0.6 of it.
	report.AtMost("jump-hop-upper", upper, "ns", 0.6*hop[pltReturn].hop.Median())
	report.AtMost("jump-hop", hop[stub].hop.Median(), "ns", 0.5)
	return &report, nil
}

// cost is that of one variant, launch by launch.
type cost struct {
	call bar.Samples // the median of the rounds
	hop  bar.Samples // the median of the rounds' differences to the direct call
}

// hops launches processes until there are enough that had their core for themselves. Who shares a core with another
// thread that works has half its front end, and what a jump costs doubles. The loop that calls nothing shows it, and has
// no part in what is compared: on a shared core it takes half as long again. If the machine is never quiet, all launches
// count.
func (args arguments) hops(s *subject.Subject, variants []variant) (costs map[string]cost, crowded int, err error) {
	const attempts, slack = 6, 1.1
	var launches []map[string]bar.Samples
	var alone []int // of launches
	progress := progressbar.NewOptions(args.Launches, progressbar.OptionSetWriter(os.Stderr), progressbar.OptionSetDescription("hops"))
	for len(alone) < args.Launches && len(launches) < attempts*args.Launches {
		rounds, err := args.launch(s, true, variants)
		if err != nil {
			return nil, 0, err
		}
		launches = append(launches, rounds)
		fastest := math.Inf(1)
		for _, l := range launches {
			fastest = min(fastest, l[noop].Median())
		}
		alone = alone[:0]
		for i, l := range launches {
			if l[noop].Median() <= slack*fastest {
				alone = append(alone, i)
			}
		}
		_ = progress.Set(len(alone))
	}
	fmt.Fprintln(os.Stderr)
	crowded = len(launches) - len(alone)
	if len(alone) < args.Launches {
		fmt.Fprintf(os.Stderr, "call: %d of %d launches shared their core, so all count; measure again on a quiet machine\n", crowded, len(launches))
		alone, crowded = nil, 0
		for i := range launches {
			alone = append(alone, i)
		}
	}
	costs = map[string]cost{}
	for _, v := range variants {
		var c cost
		for _, i := range alone {
			c.call = append(c.call, launches[i][v.name].Median())
			c.hop = append(c.hop, launches[i][v.name].Minus(launches[i][direct]).Median())
		}
		costs[v.name] = c
	}
	return costs, crowded, nil
}

// api is what an application's calls take on the stock library, and on the split; each goes first half of the time.
func (args arguments) api(s *subject.Subject, pair string) (calls [2]map[string]bar.Samples, err error) {
	calls = [2]map[string]bar.Samples{{}, {}}
	progress := progressbar.NewOptions(args.Launches, progressbar.OptionSetWriter(os.Stderr), progressbar.OptionSetDescription("stock and split"))
	for launch := range args.Launches {
		for i := range calls {
			which := (launch + i) % len(calls)
			library := []string{s.Stock, s.Wrapper}[which]
			rounds, err := args.launch(s, which == 1, []variant{{noop, "-", "-"}, {getVersion, library, function}, {createDestroy, library, pair}})
			if err != nil {
				return calls, err
			}
			for name, samples := range rounds {
				calls[which][name] = append(calls[which][name], samples.Median())
			}
		}
		_ = progress.Add(1)
	}
	fmt.Fprintln(os.Stderr)
	return calls, nil
}

// hopVariants are the ways to the implementation of miopenGetVersion that one process compares.
func hopVariants(s *subject.Subject) ([]variant, error) {
	variants := []variant{
		{noop, "-", "-"},
		{direct, s.Private, function + exports.ImplSuffix},
		{stub, s.Wrapper, function},
	}
	for _, peer := range []struct{ name, variable, imports string }{
		{plt, "PEER_PLT", function + exports.ImplSuffix},
		{pltReturn, "PEER_PLT_RETURN", function + exports.ImplSuffix},
		{staticRoute, "PEER_STATIC_ROUTE", "__cxa_guard_acquire"},
	} {
		path, err := runfile.Path(peer.variable)
		if err != nil {
			return nil, err
		}
		if err := callsThroughPLT(path, peer.imports); err != nil {
			return nil, err
		}
		variants = append(variants, variant{peer.name, path, "peerGetVersion"})
	}
	return variants, nil
}

// callsThroughPLT is that the library has a slot of the procedure linkage table for the function. A compiler that was
// told to call without one (-fno-plt), or to initialise statics without a guard, makes a peer that is not what its name
// says.
func callsThroughPLT(path, function string) error {
	file, err := elf.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	symbols, err := file.DynamicSymbols()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	section := file.Section(".rela.plt")
	if section == nil {
		return fmt.Errorf("%s has no procedure linkage table: build it without -fno-plt", path)
	}
	table, err := section.Data()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	const entry = 24 // Elf64_Rela: offset, info, addend
	for at := 0; at+entry <= len(table); at += entry {
		index := int(elf.R_SYM64(file.ByteOrder.Uint64(table[at+8:])))
		if index > 0 && index <= len(symbols) && symbols[index-1].Name == function {
			return nil
		}
	}
	return fmt.Errorf("%s does not call %s through its procedure linkage table: look at the compiler's options", path, function)
}

// objects is what is created and destroyed: a handle, which needs a device, or a tensor descriptor where there is none.
func objects(s *subject.Subject) string {
	const handle, descriptor = "miopenCreate+miopenDestroy", "miopenCreateTensorDescriptor+miopenDestroyTensorDescriptor"
	if _, err := s.Run(false, "1", "0", "0", createDestroy, s.Stock, handle); err != nil {
		fmt.Fprintf(os.Stderr, "call: no handle can be created here, so create+destroy is that of a tensor descriptor: %v\n", err)
		return descriptor
	}
	return handle
}

// launch runs one process and returns its rounds by variant.
func (args arguments) launch(s *subject.Subject, onSplit bool, variants []variant) (map[string]bar.Samples, error) {
	words := []string{strconv.Itoa(args.Rounds), strconv.FormatFloat(args.Block, 'g', -1, 64), strconv.FormatUint(rand.Uint64()>>1, 10)}
	for _, v := range variants {
		words = append(words, v.name, v.library, v.function)
	}
	rows, err := s.Run(onSplit, words...)
	if err != nil {
		return nil, err
	}
	rounds := map[string]bar.Samples{}
	for _, row := range rows {
		rounds[row.Name] = append(rounds[row.Name], row.Values[0])
	}
	for _, v := range variants {
		if got := len(rounds[v.name]); got != args.Rounds {
			return nil, fmt.Errorf("the worker gave %d rounds of %s, it was to give %d", got, v.name, args.Rounds)
		}
	}
	return rounds, nil
}
