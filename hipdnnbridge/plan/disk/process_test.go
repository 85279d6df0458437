package disk_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/miopen_hipdnn_shim/hipdnnbridge/plan/disk"
)

func mkfifo(path string) error { return syscall.Mkfifo(path, 0o600) }

// role is set in processes that a test starts of itself.
const role = "PLAN_DISK_TEST_ROLE"

func TestMain(m *testing.M) {
	switch words := strings.Fields(os.Getenv(role)); {
	case len(words) == 0:
		os.Exit(m.Run())
	case words[0] == "hold":
		hold(words[1])
	case words[0] == "work":
		work(words[1], words[2])
	}
}

func process(t *testing.T, words ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), role+"="+strings.Join(words, " "))
	cmd.Stderr = os.Stderr
	return cmd
}

func must(s *disk.Store, err error) *disk.Store {
	if err != nil {
		panic(err)
	}
	return s
}

// hold has the lock of a key for as long as the process lives.
func hold(dir string) {
	must(disk.Open(dir, roomy)).Lock([]byte("key"), 0)
	fmt.Println("held")
	select {}
}

// A process that builds keeps the others waiting for their patience, other keys are free, and when it is
// killed the next one has the lock.
func TestLock(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, roomy)
	holder := process(t, "hold", dir)
	out, err := holder.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, holder.Start())
	defer func() { _ = holder.Wait() }()
	defer func() { _ = holder.Process.Kill() }()
	line := make([]byte, 5)
	_, err = out.Read(line)
	require.NoError(t, err)
	require.Equal(t, "held\n", string(line))

	start := time.Now()
	unlock, waited := s.Lock([]byte("key"), 200*time.Millisecond)
	require.True(t, waited)
	require.GreaterOrEqual(t, time.Since(start), 200*time.Millisecond)
	unlock()
	unlock, waited = s.Lock([]byte("another key"), time.Minute)
	require.False(t, waited)
	unlock()

	time.AfterFunc(100*time.Millisecond, func() { _ = holder.Process.Kill() })
	start = time.Now()
	unlock, waited = s.Lock([]byte("key"), time.Minute)
	require.True(t, waited)
	require.Less(t, time.Since(start), 30*time.Second)
	unlock()
}

// planOf is what every process builds for a key.
func planOf(key int) []byte {
	r := rand.New(rand.NewPCG(uint64(key), 1))
	return bytes.Repeat([]byte{byte(r.Uint32()), byte(r.Uint32()), byte(key)}, 1000+r.IntN(30_000))
}

const workKeys = 40

// work loads or builds every key, as the bridge does, in an order of its own, and prints how many it
// built and whether all plans that it loaded were right.
func work(dir, seed string) {
	const limit = 4 << 20 // above what all take
	s := must(disk.Open(dir, limit))
	number, _ := strconv.ParseUint(seed, 10, 64)
	order := rand.New(rand.NewPCG(number, 2)).Perm(workKeys)
	built, wrong := 0, 0
	check := func(key int, plan []byte) {
		if !bytes.Equal(plan, planOf(key)) {
			wrong++
		}
	}
	for _, key := range order {
		name := []byte(strconv.Itoa(key))
		if plan, found := s.Load(name); found {
			check(key, plan)
			continue
		}
		func() {
			unlock, _ := s.Lock(name, time.Minute)
			defer unlock()
			if plan, found := s.Load(name); found {
				check(key, plan)
				return
			}
			time.Sleep(5 * time.Millisecond) // the build
			built++
			if err := s.Save(name, planOf(key)); err != nil {
				panic(err)
			}
		}()
	}
	fmt.Println(built, wrong)
}

// runAll starts processes at once and returns the sum of what they print.
func runAll(t *testing.T, dir string, processes int) (built, wrong int) {
	t.Helper()
	var all sync.WaitGroup
	outputs, errs := make([]string, processes), make([]error, processes)
	for i := range processes {
		cmd := process(t, "work", dir, strconv.Itoa(i))
		all.Go(func() {
			out, err := cmd.Output()
			outputs[i], errs[i] = string(out), err
		})
	}
	all.Wait()
	for i := range processes {
		require.NoError(t, errs[i])
		var b, w int
		_, err := fmt.Sscan(outputs[i], &b, &w)
		require.NoError(t, err)
		built, wrong = built+b, wrong+w
	}
	return built, wrong
}

// Thirty-two processes at once: each plan is built once, all are right, nothing is left over; and while
// somebody writes into the files and cuts them off, plans are built again and none is wrong.
func TestProcesses(t *testing.T) {
	dir := t.TempDir()
	built, wrong := runAll(t, dir, 32)
	require.Equal(t, workKeys, built)
	require.Zero(t, wrong)
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	require.NoError(t, err)
	require.Empty(t, left)

	built, wrong = runAll(t, dir, 32)
	require.Zero(t, built)
	require.Zero(t, wrong)

	stop, stopped, damaged := make(chan struct{}), make(chan struct{}), 0
	go func() {
		defer close(stopped)
		r := rand.New(rand.NewPCG(3, 4))
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
			files, _ := filepath.Glob(filepath.Join(dir, "*.plan"))
			if len(files) == 0 {
				continue
			}
			f, err := os.OpenFile(files[r.IntN(len(files))], os.O_RDWR, 0)
			if err != nil {
				continue
			}
			if info, err := f.Stat(); err == nil && info.Size() > 0 {
				at := r.Int64N(info.Size())
				if r.IntN(2) == 0 {
					err = f.Truncate(at)
				} else {
					_, err = f.WriteAt([]byte{byte(r.Uint32()), byte(r.Uint32())}, at)
				}
				if err == nil {
					damaged++
				}
			}
			_ = f.Close()
		}
	}()
	built, wrong = runAll(t, dir, 32)
	close(stop)
	<-stopped
	require.Positive(t, damaged)
	require.Positive(t, built, "no damage was noticed")
	require.Zero(t, wrong)
	t.Logf("%d times damaged, %d plans built again", damaged, built)
}
