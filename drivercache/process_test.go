//go:build linux

package drivercache

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shadercache/shadercache/drivercache/nvidia"
	"github.com/shadercache/shadercache/internal/osfile"
)

// driverEnvironment makes the test binary a process that manages a directory, as one of
// NVIDIA's driver: it prints the records of its slot, and adds one for each line of its
// input.
const driverEnvironment = "DRIVERCACHE_TEST_DRIVER"

func init() {
	dir := os.Getenv(driverEnvironment)
	if dir == "" {
		return
	}
	if state := Manage(dir); !state.Managed {
		fmt.Println(state)
		os.Exit(1)
	}
	if err := Reserve(); err != nil {
		fmt.Println("warning:", err)
	}
	FirstProgram()
	slot := filepath.Join(dir, nvidia.Folder, filepath.FromSlash(slotsFolder), os.Getenv(AppName)+"0")
	fmt.Println("ready", os.Getenv(AppName), recordsIn(slot))
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		addRecord(slot, lines.Text())
		fmt.Println("added", lines.Text())
	}
	os.Exit(0)
}

// slotHeader is that of the slot in the test data.
func slotHeader() []byte {
	data, err := os.ReadFile(filepath.Join("nvidia", "testdata", nvidia.App+"0.toc"))
	if err != nil {
		panic(err)
	}
	return data[:32]
}

// addRecord appends a record to a slot as the driver does: to the .bin, then to the .toc.
// Its name is text.
func addRecord(slot, text string) {
	name := make([]byte, 16)
	copy(name, text)
	bin, toc := openSlotFile(slot+".bin"), openSlotFile(slot+".toc")
	end, _ := bin.Seek(0, io.SeekEnd)
	data := strings.Repeat(text, 100)
	record := slices.Concat([]byte("tag."), name, make([]byte, 8))
	record = binary.LittleEndian.AppendUint32(record, uint32(len(data)))
	_, _ = bin.Write(append(record, data...))
	entry := binary.LittleEndian.AppendUint32(slices.Clone(name), uint32(end))
	_, _ = toc.Write(binary.LittleEndian.AppendUint32(entry, uint32(len(data))))
	_, _ = bin.Close(), toc.Close()
}

// openSlotFile opens a file of a slot to append to it, and makes it with its header.
func openSlotFile(path string) *os.File {
	_ = os.MkdirAll(filepath.Dir(path), 0o700)
	// In one step: a slot without its header, of a process that is killed, is refused for good.
	if _, err := os.Lstat(path); err != nil {
		made := fmt.Sprintf("%s.%d", os.Getenv(driverEnvironment), os.Getpid())
		_ = os.WriteFile(made, slotHeader(), 0o600)
		_ = os.Rename(made, path)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		panic(err)
	}
	return f
}

// recordsIn returns the records of a slot, in order, as addRecord names them.
func recordsIn(slot string) (names []string) {
	toc, err := os.ReadFile(slot + ".toc")
	if err != nil {
		return nil
	}
	ids, err := nvidia.RecordIDs(toc)
	if err != nil {
		return []string{err.Error()}
	}
	for _, id := range ids {
		names = append(names, strings.TrimRight(string(id[:]), "\x00"))
	}
	slices.Sort(names)
	return names
}

// driverProcess is a process with driverEnvironment.
type driverProcess struct {
	*exec.Cmd
	in    io.WriteCloser
	lines *bufio.Scanner
}

func startDriver(t testing.TB, dir string, environment ...string) *driverProcess {
	t.Helper()
	p := &driverProcess{Cmd: exec.Command(os.Args[0])}
	p.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "__GL_") || strings.HasPrefix(v, "MESA_") || strings.HasPrefix(v, inheritedDir)
	})
	p.Env = append(append(p.Env, driverEnvironment+"="+dir), environment...)
	in, inErr := p.StdinPipe()
	out, outErr := p.StdoutPipe()
	if err := errors.Join(inErr, outErr, p.Start()); err != nil {
		t.Fatal(err)
	}
	p.in, p.lines = in, bufio.NewScanner(out)
	t.Cleanup(func() { p.kill() })
	return p
}

func (p *driverProcess) line() string {
	p.lines.Scan()
	return p.lines.Text()
}

func (p *driverProcess) want(t testing.TB, want string) {
	t.Helper()
	if got := p.line(); got != want {
		t.Errorf("a process printed %q, want %q", got, want)
	}
}

func (p *driverProcess) add(t testing.TB, text string) {
	t.Helper()
	_, _ = io.WriteString(p.in, text+"\n")
	p.want(t, "added "+text)
}

func (p *driverProcess) kill() {
	_ = p.Process.Kill()
	_ = p.Wait()
}

func (p *driverProcess) end(t testing.TB) {
	t.Helper()
	_ = p.in.Close()
	if err := p.Wait(); err != nil {
		t.Error(err)
	}
}

// slotsIn returns the names of the files of a folder that are slots, or on their way.
func slotsIn(t testing.TB, dir string) (names []string) {
	t.Helper()
	for _, e := range osfile.List(filepath.Join(dir, nvidia.Folder, filepath.FromSlash(slotsFolder))) {
		names = append(names, e.Name())
	}
	return names
}

// Each of the processes that run at the same time finds in its slot what all others have,
// also those that were killed.
func TestSlotForEachProcess(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "driver")
	first := startDriver(t, dir)
	first.want(t, "ready shadercache []")
	first.add(t, "a")
	second := startDriver(t, dir)
	second.want(t, "ready shadercache100 [a]")
	second.add(t, "b")
	first.add(t, "c")
	third := startDriver(t, dir)
	third.want(t, "ready shadercache101 [a b c]")
	third.add(t, "d")

	second.kill()
	fourth := startDriver(t, dir)
	fourth.want(t, "ready shadercache100 [a b c d]")
	third.end(t)
	fifth := startDriver(t, dir)
	fifth.want(t, "ready shadercache101 [a b c d]")
	fifth.end(t)
	first.end(t)
	again := startDriver(t, dir)
	again.want(t, "ready shadercache [a b c d]")
	if got := slotsIn(t, dir); !slices.Equal(got, []string{"shadercache0.bin", "shadercache0.toc", "shadercache1000.bin", "shadercache1000.toc"}) {
		t.Errorf("slots beside a running process: %q", got)
	}
	fourth.end(t)
	again.end(t)
	last := startDriver(t, dir)
	last.want(t, "ready shadercache [a b c d]")
	if got := slotsIn(t, dir); len(got) != 2 {
		t.Errorf("slots after all have ended: %q", got)
	}
	last.end(t)
}

// A child takes a number of its own, not that of its parent's variables; what the user set
// stays, and is no reason to copy.
func TestSlotOfAChild(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "driver")
	first := startDriver(t, dir)
	first.want(t, "ready shadercache []")
	first.add(t, "a")
	child := startDriver(t, dir, AppName+"=shadercache107", inheritedDir+"="+dir)
	child.want(t, "ready shadercache100 [a]")
	own := startDriver(t, dir, AppName+"=mine")
	own.want(t, "ready mine []")
	if got := slotsIn(t, dir); len(got) != 4 {
		t.Errorf("slots: %q", got)
	}
}

// A process whose slot cannot be filled starts as it would without one, with a warning.
func TestSlotOnAFullVolume(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "driver")
	first := startDriver(t, dir)
	first.want(t, "ready shadercache []")
	first.add(t, "a")
	// A folder in the place of the copy fails as a full volume does.
	folder := filepath.Join(dir, nvidia.Folder, filepath.FromSlash(slotsFolder))
	if err := os.MkdirAll(filepath.Join(folder, ".shadercache1000.bin", "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	second := startDriver(t, dir)
	if got := second.line(); !strings.HasPrefix(got, "warning: drivercache: a slot for this process: ") {
		t.Errorf("printed %q", got)
	}
	second.want(t, "ready shadercache100 []")
	second.add(t, "b")
	third := startDriver(t, dir)
	third.want(t, "ready shadercache101 [a b]")
}

// Processes are killed at any moment: while they copy, merge and add. No record is lost
// that a driver had written, none is wrong, and no copy is left after the next two starts.
func TestSlotsOfKilledProcesses(t *testing.T) {
	t.Parallel()
	rounds := 20
	if os.Getenv("SHADERCACHE_SOAK") != "" {
		rounds = 200
	}
	dir := filepath.Join(t.TempDir(), "driver")
	random := rand.New(rand.NewPCG(1, 2))
	// On a busy machine all others may be killed before their first record is whole.
	first := startDriver(t, dir)
	_ = first.line()
	first.add(t, "first")
	first.end(t)
	want := []string{"first"}
	live := make([]*driverProcess, 4)
	for round := range rounds {
		i := random.IntN(len(live))
		if p := live[i]; p != nil {
			p.kill()
		}
		p := startDriver(t, dir)
		live[i] = p
		switch round % 3 {
		case 0: // while it starts
			time.AfterFunc(time.Duration(random.IntN(20_000))*time.Microsecond, func() { _ = p.Process.Signal(syscall.SIGKILL) })
			_ = p.line()
		case 1: // while it adds
			p.readRecords(t, want)
			time.AfterFunc(time.Duration(random.IntN(2_000))*time.Microsecond, func() { _ = p.Process.Signal(syscall.SIGKILL) })
			for n := 0; ; n++ {
				text := fmt.Sprintf("%d.%d", round, n)
				if _, err := io.WriteString(p.in, text+"\n"); err != nil || p.line() != "added "+text {
					break
				}
				want = append(want, text)
			}
		default:
			p.readRecords(t, want)
		}
	}
	for _, p := range live {
		if p != nil {
			p.kill()
		}
	}
	for range 2 {
		p := startDriver(t, dir)
		p.readRecords(t, want)
		p.end(t)
	}
	if got := slotsIn(t, dir); !slices.Equal(got, []string{"shadercache0.bin", "shadercache0.toc"}) {
		t.Errorf("files: %q", got)
	}
	if bad, err := nvidia.Snapshots(dir, func(nvidia.Snapshot) error { return nil }); len(bad) > 0 || err != nil {
		t.Errorf("refused: %v, %v", bad, err)
	}
}

// readRecords reads the first line of a process, which has to have the wanted records.
func (p *driverProcess) readRecords(t testing.TB, want []string) {
	t.Helper()
	line := p.line()
	_, list, found := strings.Cut(line, "[")
	got := strings.Fields(strings.TrimSuffix(list, "]"))
	for _, name := range want {
		if !found || !slices.Contains(got, name) {
			t.Fatalf("%s is missing in %q", name, line)
		}
	}
}

// A process that was stopped while it filled its slot delays others for a while only.
func TestStoppedFiller(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "driver")
	synctest.Test(t, func(t *testing.T) {
		stopped, other := share(t, folder), share(t, folder)
		stopped.beOnlyFiller()
		began := time.Now()
		end := other.beOnlyFiller()
		if waited := time.Since(began); waited < fillerWait || waited > fillerWait+lockPoll {
			t.Errorf("waited %v", waited)
		}
		end()
		release(t, stopped)
		other.beOnlyFiller()()
		if time.Since(began) > fillerWait+2*lockPoll {
			t.Error("waited for a filler that has ended")
		}
		release(t, other)
	})
}

// Slots are no files to delete while a process may write to them, whatever they hold: what
// others hold too, no record yet, or half of the files. Afterwards those are of which no merge
// knows the format.
func TestItemsOmitSlotsInUse(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "driver")
	folder := writeSlots(t, dir, 0, 1000, 1010, 1020, 1030)
	header := slotHeader()
	for _, extension := range []string{".bin", ".toc"} {
		if err := os.WriteFile(filepath.Join(folder, "shadercache1020"+extension), header, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	half := filepath.Join(folder, "shadercache1030.bin")
	if err := os.Remove(filepath.Join(folder, "shadercache1030.toc")); err != nil {
		t.Fatal(err)
	}
	paths := func() (paths []string) {
		for _, it := range Items(dir) {
			paths = append(paths, it.Paths...)
		}
		return paths
	}
	lock := share(t, dir)
	if list := paths(); len(list) > 0 {
		t.Errorf("in use: %v", list)
	}
	release(t, lock)
	if list := paths(); len(list) != 1 || list[0] != half {
		t.Errorf("not in use: %v", list)
	}
}

// A process without a number leaves slot 0 as it is, which another process has open.
func TestAProcessWithoutANumber(t *testing.T) {
	resetProcess(t, nil)
	dir := filepath.Join(t.TempDir(), "driver")
	folder := writeSlots(t, dir, 0)
	for n := range maxProcesses {
		lock := share(t, dir)
		defer release(t, lock)
		if got, own := lock.takeNumber(0); got != n || !own {
			t.Fatalf("process %d has number %d, %v", n, got, own)
		}
	}
	addRecord(filepath.Join(folder, "shadercache1000"), "a")
	before, beforeErr := os.Lstat(filepath.Join(folder, "shadercache0.toc"))
	state := Manage(dir)
	if err := Reserve(); !state.Managed || err != nil || os.Getenv(AppName) != nvidia.App {
		t.Errorf("%v, %v, %s", state, err, os.Getenv(AppName))
	}
	FirstProgram()
	after, err := os.Lstat(filepath.Join(folder, "shadercache0.toc"))
	if err := errors.Join(beforeErr, err); err != nil || !os.SameFile(before, after) {
		t.Errorf("slot 0 was replaced: %v", err)
	}
}

// A slot of a process that ended takes no room from others: it is deleted by the next that
// starts, however much all slots have together.
func TestSlotsThatEndedTakeNoRoom(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "driver")
	folder := writeSlots(t, dir, 0, 1000, 1010)
	const size = maxBytes / 5 * 2 // of which the volume has none
	if free, known := osfile.FreeBytes(dir); known && free < 3*size {
		t.Skip("the volume has too little room")
	}
	for _, name := range slotsIn(t, dir) {
		if filepath.Ext(name) == ".bin" {
			if err := os.Truncate(filepath.Join(folder, name), size); err != nil {
				t.Fatal(err)
			}
		}
	}
	process := share(t, dir)
	defer release(t, process)
	if n, _ := process.takeNumber(0); n != 0 {
		t.Fatalf("the first process has number %d", n)
	}
	own := share(t, dir)
	defer release(t, own)
	if n, _ := own.takeNumber(0); n != 1 {
		t.Fatalf("the second process has number %d", n)
	}
	if err := own.fillSlot(1); err != nil {
		t.Error(err)
	}
	if left := slotsIn(t, dir); !slices.Equal(left, []string{"shadercache0.bin", "shadercache0.toc", "shadercache1000.bin", "shadercache1000.toc"}) {
		t.Errorf("left: %v", left)
	}
	writeSlots(t, dir, 1010, 1020)
	for _, slot := range []string{"1010", "1020"} {
		if err := os.Truncate(filepath.Join(folder, "shadercache"+slot+".bin"), size); err != nil {
			t.Fatal(err)
		}
	}
	for want := range 2 {
		other := share(t, dir)
		defer release(t, other)
		if n, _ := other.takeNumber(0); n != 2+want {
			t.Fatalf("process %d has number %d", 2+want, n)
		}
	}
	if err := own.fillSlot(1); !errors.Is(err, osfile.ErrNoSpace) {
		t.Errorf("beside processes with more than the limit: %v", err)
	}
}

// What a process makes again after a drop is no more to be deleted.
func TestKeepWhatIsMadeAfterADrop(t *testing.T) {
	dir := slotWith(t, 1)
	first := share(t, dir)
	dropped := Items(dir)[0].Entry
	if err := Drop(dir, []string{dropped}); !errors.Is(err, ErrInUse) {
		t.Errorf("while in use: %v", err)
	}
	resetProcess(t, nil)
	if alone := shareProcess(dir); alone || process.number != 1 {
		t.Errorf("a process that starts then has number %d", process.number)
	}
	if err := process.lock.fillSlot(1); err != nil {
		t.Error(err)
	}
	copySlot(t, dir, "shadercache1000") // as its driver makes the record
	if made := Items(dir); len(made) != 1 || made[0].Entry != dropped {
		t.Errorf("an export has %+v", made)
	}
	release(t, first)
	release(t, process.lock)
	if _, err := Merge(dir); err != nil || recordsOfSlot0(t, dir) != 1 {
		t.Errorf("it was deleted: %v", err)
	}
}

// A process gets no slot where one with the records of all that wait for a merge would be too large.
func TestSlotOfAllThatWait(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "driver")
	folder := writeSlots(t, dir, 0, 1, 2, 3)
	own := share(t, dir)
	defer release(t, own)
	if err := own.fillSlot(1); err != nil {
		t.Error(err)
	}
	for _, slot := range []string{"1", "2", "3"} {
		if err := os.Truncate(filepath.Join(folder, "shadercache"+slot+".bin"), maxBytes/5); err != nil {
			t.Fatal(err)
		}
	}
	if err := own.fillSlot(1); !errors.Is(err, osfile.ErrNoSpace) {
		t.Errorf("three of a fifth of the limit wait: %v", err)
	}
}

// Reserve reads how the slot was filled while the first program of another context may fill it
// again. The race detector sees where it does not wait for that.
func TestReserveBesideTheFirstProgram(t *testing.T) {
	resetProcess(t, nil)
	dir := filepath.Join(t.TempDir(), "driver")
	if state := Manage(dir); !state.Managed {
		t.Fatal(state)
	}
	before := process.filled
	defer func() { process.filled = before }() // not that of the bubble
	synctest.Test(t, func(t *testing.T) {
		filled := make(chan struct{})
		process.filled, process.fills = filled, true
		Renew()
		reserved := make(chan error)
		go func() { reserved <- Reserve() }()
		synctest.Wait()
		go FirstProgram()
		synctest.Wait()
		close(filled)
		if err := <-reserved; err != nil {
			t.Error(err)
		}
	})
}
