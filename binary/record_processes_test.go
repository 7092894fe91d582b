package binary

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

func init() {
	// end DIR NUMBER puts programs, and records when its input ends, as often as the
	// index is busy.
	children["end"] = func(args []string) {
		s := childStore(args[0])
		var number int
		fmt.Sscan(args[1], &number)
		for n := range 8 {
			if err := s.Put(testBlob(number*8 + n)); err != nil {
				panic(err)
			}
		}
		fmt.Println("ready")
		_, _ = io.Copy(io.Discard, os.Stdin)
		begin := time.Now()
		for tries := 1; ; tries++ {
			err := s.Record([]Use{{Key: testKey(number * 8), Hits: 1, LastUse: time.Now()}}, Counters{Compiles: 8})
			if err == nil {
				fmt.Printf("recorded at try %d after %v\n", tries, time.Since(begin))
				return
			}
			if tries == 100 {
				panic(err)
			}
		}
	}
}

// Processes that end at the same moment, as those of a parallel preload do, all record,
// one after the other. The log has the times.
func TestProcessesThatEndTogether(t *testing.T) {
	const processes = 6
	d := openTestDir(t)
	var inputs []io.Closer
	var outputs []*bufio.Reader
	for n := range processes {
		cmd := childCommand(t, "end", d.path, fmt.Sprint(n))
		in, err := cmd.StdinPipe()
		must(t, err)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		t.Cleanup(func() { _ = cmd.Wait() })
		inputs, outputs = append(inputs, in), append(outputs, bufio.NewReader(out))
	}
	for _, out := range outputs {
		_, err := out.ReadString('\n')
		must(t, err)
	}
	for _, in := range inputs {
		must(t, in.Close())
	}
	for _, out := range outputs {
		line, err := out.ReadString('\n')
		must(t, err)
		t.Log(strings.TrimSpace(line))
	}
	d.now = time.Now
	s := openTestStore(t, d, testFingerprint)
	must(t, s.record(pendingRecord{}, true)) // merges what was recorded while the index was busy
	known, err := s.loadIndex()
	must(t, err)
	if known.lifetime.Compiles != 8*processes || len(known.programs) != 8*processes {
		t.Errorf("the index has %d programs and %d compiles", len(known.programs), known.lifetime.Compiles)
	}
	for n := range processes {
		if known.programs[testKey(8*n)].Hits != 1 {
			t.Errorf("process %d was not recorded", n)
		}
	}
}

// What is recorded while the index is merged counts once.
func TestRecordsBesideAMergeCountOnce(t *testing.T) {
	const records = 300
	d := openTestDir(t)
	s, other := openTestStore(t, d, testFingerprint), openTestStore(t, d, testFingerprint)
	must(t, s.record(pendingRecord{}, true))
	ended := make(chan error, 1)
	go func() {
		var err error
		for n := 0; n < records && err == nil; n++ {
			err = other.putPending(pendingRecord{Counters: Counters{Compiles: 1}})
		}
		ended <- err
	}()
	for running := true; running; {
		select {
		case err := <-ended:
			must(t, err)
			running = false
		default:
		}
		must(t, s.record(pendingRecord{}, true))
	}
	known, err := s.loadIndex()
	must(t, err)
	if known.lifetime.Compiles != records {
		t.Errorf("%d records count %d", records, known.lifetime.Compiles)
	}
}
