package disk_test

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
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
		hold(words[1], strings.Join(words[2:], " "))
	case words[0] == "fork":
		fork(words[1])
	case words[0] == "limited":
		limited(words[1])
	case words[0] == "closed":
		closed(words[1], words[2])
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

// hold has the lock of a key for as long as the process lives, if it can have it at once.
func hold(dir, key string) {
	_, waited := must(disk.Open(dir, roomy)).Lock([]byte(key), 50*time.Millisecond)
	fmt.Println("held", waited == 0)
	select {}
}

// fork is hold with a child that outlives the process, and has a copy of its descriptors.
func fork(dir string) {
	s := must(disk.Open(dir, roomy))
	s.Lock([]byte("key"), 0)
	runtime.LockOSThread()
	child, _, _ := syscall.RawSyscall(syscall.SYS_FORK, 0, 0, 0)
	for child == 0 {
		syscall.RawSyscall(syscall.SYS_PAUSE, 0, 0, 0) // there is no Go in it
	}
	fmt.Println("held", child)
	select {}
}

// limited may write no file, and is killed by a write.
func limited(dir string) {
	s := must(disk.Open(dir, roomy))
	none := syscall.Rlimit{}
	if err := syscall.Setrlimit(1 /* RLIMIT_FSIZE */, &none); err != nil {
		panic(err)
	}
	fmt.Println(s.Save([]byte("key"), []byte("plan")))
}

// closed has a standard descriptor closed after the store was opened.
func closed(dir, number string) {
	s := must(disk.Open(dir, roomy))
	descriptor, _ := strconv.Atoi(number)
	out, err := syscall.Dup(1)
	if err != nil {
		panic(err)
	}
	_ = syscall.Close(descriptor)
	_, found := s.Load([]byte("key"))
	failed := s.Save([]byte("another key"), []byte("plan"))
	unlock, _ := s.Lock([]byte("key"), 0)
	_, written := syscall.Write(descriptor, []byte("the host's"))
	unlock()
	_, opened := disk.Open(dir, roomy)
	_ = syscall.Dup2(out, 1)
	fmt.Println(found, failed, written == syscall.EBADF, opened)
}

// started returns a process of the test's own and the words that it printed first. It is killed in the end.
func started(t *testing.T, words ...string) (*exec.Cmd, []string) {
	t.Helper()
	cmd := process(t, words...)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return cmd, strings.Fields(line)
}

// A process that builds keeps the others waiting for their patience, other keys are free, and when it is
// killed the next one has the lock.
func TestLock(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, roomy)
	holder, _ := started(t, "hold", dir, "key")

	start := time.Now()
	unlock, waited := s.Lock([]byte("key"), 200*time.Millisecond)
	require.GreaterOrEqual(t, waited, 200*time.Millisecond)
	require.GreaterOrEqual(t, time.Since(start), 200*time.Millisecond)
	unlock()
	unlock, waited = s.Lock([]byte("another key"), time.Minute)
	require.Zero(t, waited)
	// Its file is open now, and has to stay so when another caller gives up.
	inner, waited := s.Lock([]byte("key"), 10*time.Millisecond)
	require.Positive(t, waited)
	inner()
	require.Equal(t, "false", tried(t, dir, "another key"), "it is still held")
	unlock()
	require.Equal(t, "true", tried(t, dir, "another key"))

	time.AfterFunc(100*time.Millisecond, func() { _ = holder.Process.Kill() })
	start = time.Now()
	unlock, waited = s.Lock([]byte("key"), time.Minute)
	require.Positive(t, waited)
	require.Less(t, time.Since(start), 30*time.Second)
	unlock()
}

// tried is whether another process gets the lock of a key at once.
func tried(t *testing.T, dir, key string) string {
	t.Helper()
	_, words := started(t, "hold", dir, key)
	return words[1]
}

// A child has no part in its parent's lock.
func TestLockOfParent(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, roomy)
	parent, words := started(t, "fork", dir)
	child, err := strconv.Atoi(words[1])
	require.NoError(t, err)
	defer func() { _ = syscall.Kill(child, syscall.SIGKILL) }()
	require.NoError(t, parent.Process.Kill())
	_ = parent.Wait()
	require.NoError(t, syscall.Kill(child, 0), "the child lives")
	start := time.Now()
	unlock, _ := s.Lock([]byte("key"), time.Minute)
	unlock()
	require.Less(t, time.Since(start), 30*time.Second)
}

// A limit on the size of files is an error, not the end of the process.
func TestFileSizeLimit(t *testing.T) {
	dir := t.TempDir()
	out, err := process(t, "limited", dir).Output()
	require.NoError(t, err)
	require.Contains(t, string(out), "RLIMIT_FSIZE")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries)
}

// What a host writes to a standard descriptor that is closed goes nowhere, and above all not into the folder.
func TestClosedDescriptors(t *testing.T) {
	for _, number := range []string{"0", "1", "2"} {
		dir := t.TempDir()
		require.NoError(t, open(t, dir, roomy).Save([]byte("key"), []byte("plan")))
		out, err := process(t, "closed", dir, number).Output()
		require.NoError(t, err)
		failed := "descriptor " + number + ", one of the standard ones, is closed"
		require.Equal(t, "false "+failed+" true "+failed+"\n", string(out))
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Len(t, entries, 1)
	}
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
	s := must(disk.Open(dir, disk.Limits{Bytes: 4 << 20, Plans: 100})) // above what all take
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
			defer s.Tidy()
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
	left, err := filepath.Glob(filepath.Join(dir, ".*.plan*"))
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
