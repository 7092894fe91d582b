package nvidia

import (
	"reflect"
	"slices"
	"testing"
)

// A process's slot gets what the others have, and they stay, except those of processes
// that have ended, also incomplete ones and temporary files.
func TestMergeInto(t *testing.T) {
	f := files{}
	f.slot(0, 7, programs(10, 20)...)
	f.slot(SlotOf(1), 7, programs(10, 30)...)
	f.slot(SlotOf(2), 7, programs(20, 40)...)
	f.slot(SlotOf(3), 7, programs(50)...)
	delete(f, stem(SlotOf(3))+".toc")
	f["."+stem(SlotOf(4))+".bin"] = []byte("half of a copy")
	f[stem(SlotOf(2))+".bin"] = append(f[stem(SlotOf(2))+".bin"], "a record that its process did not list"...)
	driver := f.write(t)
	r, err := MergeInto(driver, SlotOf(2), func(slot int) bool { return ProcessOf(slot) == 1 || ProcessOf(slot) > 2 }, nil)
	if want := (Report{Slots: 2, Records: 6, Bytes: 6*recordBytes + 2*(5+18+17)}); err != nil || !reflect.DeepEqual(r, want) {
		t.Errorf("got %+v, %v", r, err)
	}
	want := files{}
	want.slot(0, 7, programs(10, 20)...)
	want.slot(SlotOf(2), 7, programs(20, 40, 10, 30)...)
	wantFiles(t, readFiles(t, driver), want)
	if list, _ := Records(driver); len(list) != 12 {
		t.Errorf("%d records, each of them once", len(list))
	}
}

// What a process made that ended stays without what is to be deleted, also where its slot is the next one's.
func TestMergeIntoASlotWithDroppedRecords(t *testing.T) {
	f, want := files{}, files{}
	f.slot(0, 7, programs(10, 20)...)
	f.slot(SlotOf(1), 7, programs(10, 20, 30)...)
	driver := f.write(t)
	own := func(slot int) bool { return ProcessOf(slot) == 1 }
	for range 2 {
		if _, err := MergeInto(driver, SlotOf(1), own, names(programs(10)...)); err != nil {
			t.Error(err)
		}
	}
	want.slot(0, 7, programs(10, 20)...)
	want.slot(SlotOf(1), 7, programs(20, 30)...)
	wantFiles(t, readFiles(t, driver), want)
}

// A slot whose last record is not listed is mended also where it is the only one.
func TestMergeMendsATornSlot(t *testing.T) {
	for _, listed := range [][]record{nil, programs(10)} {
		f, want := files{}, files{}
		f.slot(0, 7, listed...)
		want.slot(0, 7, listed...)
		f[stem(0)+".bin"] = append(f[stem(0)+".bin"], "more"...)
		driver := f.write(t)
		if _, err := Merge(driver); err != nil {
			t.Error(err)
		}
		wantFiles(t, readFiles(t, driver), want)
	}
}

func TestSlotsOfProcesses(t *testing.T) {
	for n := range 64 {
		if slot := SlotOf(n); ProcessOf(slot) != n || !slotFile.MatchString(AppOf(n)+"0.toc") || stem(slot) != AppOf(n)+"0" {
			t.Errorf("process %d: %s, slot %d", n, AppOf(n), slot)
		}
	}
	if ProcessOf(999) != 0 || ProcessOf(7) != 0 {
		t.Error("slots of other programs have a process")
	}
}

// A process sees what is added to its own slots alone.
func TestWatchOfAProcess(t *testing.T) {
	f := files{}
	f.slot(SlotOf(3), 1, programs(10)...)
	driver := f.write(t)
	w, first := NewWatch(driver, AppOf(3)), NewWatch(driver, App)
	f.slot(SlotOf(3), 1, programs(10, 20)...)
	f.slot(SlotOf(4), 1, programs(30)...)
	f.slot(0, 1, programs(40)...)
	f.writeTo(t, driver)
	for _, test := range []struct {
		watch *Watch
		want  []record
	}{{w, programs(20)}, {first, programs(40)}} {
		got := test.watch.Changes()
		if !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(names(test.want...)))) {
			t.Errorf("%s: %q", test.watch.app, got)
		}
	}
}
