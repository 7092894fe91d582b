//go:build linux

package conv2d

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job"
)

// oneTuning has one choice, for every problem.
type oneTuning struct{ choice []byte }

func (o oneTuning) Tuning(problem string) (binary.Tuning, error) {
	return binary.Tuning{Problem: problem, Choice: o.choice, Nanos: 1}, nil
}

func (oneTuning) PutTuning(binary.Tuning) error { return nil }

// fuzzTasks are problems of every kind, on drivers of both kinds.
func fuzzTasks(tb testing.TB) (tasks []task, infos []glctx.Info) {
	tb.Helper()
	for _, gpu := range []string{"NVIDIA H200", "llvmpipe (LLVM 15.0.6, 256 bits)"} {
		info := glctx.Info{GPU: gpu, MaxInvocations: 1024, MaxSharedBytes: 48 << 10, Limits: job.Limits{MaxGroups: [3]int32{65535, 65535, 65535}, MaxStorage: 1 << 31}}
		for _, word := range []string{"gemm:70x50x33,ta,row-bias,relu", "gemm:2x256x64,beta1", "conv2d:1x5x14x12-7,3x3,p1,bias", "conv2d:2x32x9x9-32,3x3,g32"} {
			s, err := ParseShape(word)
			if err != nil {
				tb.Fatal(err)
			}
			t, err := newTask(s, info)
			if err != nil {
				tb.Fatal(err)
			}
			tasks, infos = append(tasks, t), append(infos, info)
		}
	}
	return tasks, infos
}

// addChoices adds the choices of all algorithms, with and without parameters.
func addChoices(f *testing.F, tasks []task) {
	for _, t := range tasks {
		for _, o := range t.offers {
			for _, params := range o.candidates[:min(1, len(o.candidates))] {
				data, err := json.Marshal(Choice{o.name, params})
				if err != nil {
					f.Fatal(err)
				}
				f.Add(data)
			}
			f.Add([]byte(`{"algorithm":"` + o.name + `"}`))
			f.Add([]byte(`{"algorithm":"` + o.name + `","params":null}`))
			f.Add([]byte(`{"algorithm":"` + o.name + `","params":{}}`))
		}
	}
}

// FuzzChoice reads choices that a file may have, and builds nothing: one that is accepted
// is the same after it was written and read again, and has parameters in range.
func FuzzChoice(f *testing.F) {
	tasks, _ := fuzzTasks(f)
	addChoices(f, tasks)
	f.Fuzz(func(t *testing.T, data []byte) {
		choice, err := decodeChoice(data)
		if err != nil {
			return
		}
		_ = choice.String()
		if _, known := paramDecoders[choice.Algorithm]; known {
			if choice.Params == nil {
				t.Fatalf("%s: no parameters", data)
			}
			if err := checkRange(choice.Params); err != nil {
				t.Fatalf("%s: %v", data, err)
			}
		}
		written, err := json.Marshal(choice)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := decodeChoice(written); err != nil || !reflect.DeepEqual(again, choice) {
			t.Errorf("%s: written as %s, read as %v, %v", data, written, again, err)
		}
	})
}

// FuzzTuning reads choices that a file may have: a plan leaves them out, or builds a
// sequence of dispatches that the device allows.
func FuzzTuning(f *testing.F) {
	tasks, infos := fuzzTasks(f)
	addChoices(f, tasks)
	n := 0
	f.Fuzz(func(t *testing.T, data []byte) {
		// One task an input, since all of them would take as many times as long.
		n++
		task, info := tasks[n%len(tasks)], infos[n%len(tasks)]
		if _, there := Tuned(info, task.shape, Restriction{}, oneTuning{data}); there {
			if err := CheckTuning(binary.Tuning{Problem: task.shape.String(), Choice: data}); err != nil {
				t.Errorf("a plan uses what verify refuses: %v", err)
			}
		}
		choice, ok := tuned(task, Restriction{}, oneTuning{data})
		if !ok {
			return
		}
		_ = choice.String()
		sources, err := choice.Sources(info, task.shape)
		if err != nil || len(sources) == 0 != isOnCPU(choice.Algorithm) {
			t.Fatalf("%s: %d programs, %v", data, len(sources), err)
		}
		s, _, err := task.build(choice)
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range s.All() {
			if step.Host != nil {
				continue
			}
			for i, groups := range step.Groups {
				if groups < 1 || int64(groups) > int64(info.MaxGroups[i]) {
					t.Errorf("%s: %d groups on axis %d", data, groups, i)
				}
			}
		}
	})
}

// TestTuningsWithoutParameters has entries that a store accepts, since it does not
// interpret choices: a plan leaves them out, and CheckTuning names them.
func TestTuningsWithoutParameters(t *testing.T) {
	t.Parallel()
	tasks, infos := fuzzTasks(t)
	for i, task := range tasks {
		for _, o := range task.offers {
			for _, text := range []string{`{"algorithm":"` + o.name + `"}`, `{"algorithm":"` + o.name + `","params":null}`,
				`{"algorithm":"` + o.name + `","params":{"bm":-1}}`, `{}`, `null`, `7`} {
				kept := oneTuning{[]byte(text)}
				if choice, ok := tuned(task, Restriction{}, kept); ok {
					t.Errorf("%v: %s is used as %v", task.shape, text, choice)
				}
				if _, there := Tuned(infos[i], task.shape, Restriction{}, kept); there {
					t.Errorf("%v: %s counts as tuned", task.shape, text)
				}
				entry, _ := kept.Tuning(task.shape.String())
				if CheckTuning(entry) == nil {
					t.Errorf("%s is not refused", text)
				}
			}
		}
	}
	if err := CheckTuning(binary.Tuning{Problem: "gemm:4x4", Choice: []byte(`{"algorithm":"gemm_row","params":{}}`)}); err == nil {
		t.Error("a problem that is none is not refused")
	}
}
