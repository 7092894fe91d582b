package nvidia

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// names returns the names of records.
func names(records ...record) (list []string) {
	for _, r := range records {
		list = append(list, RecordID(r.bytes()[4:20]).Name())
	}
	return list
}

func recordNames(list []Record, _ []SkippedSlot) (all []string) {
	for _, r := range list {
		all = append(all, r.Entry)
	}
	slices.Sort(all)
	return all
}

// Drop deletes the named records of every slot and changes no other. A merge afterwards
// has them in slot 0.
func TestDrop(t *testing.T) {
	f := files{}
	f.slot(0, 1, programs(10, 20, 30)...)
	f.slot(1, 1, programs(40, 50)...)
	f.slot(2, 1, programs(60)...)
	f["shadercache3.toc"], f["shadercache3.bin"] = []byte("no slot"), []byte("no slot")
	f["other0.toc"], f["other0.bin"] = testSlot(1, programs(10)...)
	driver := f.write(t)
	before := readFiles(t, driver)
	gone := names(programs(20, 40, 60)...)
	must(t, Drop(driver, gone, nil))
	kept := slices.Sorted(slices.Values(names(programs(10, 30, 50)...)))
	if got := recordNames(Records(driver)); !slices.Equal(got, kept) {
		t.Errorf("after Drop %q\nwant %q", got, kept)
	}
	if _, err := Merge(driver); err != nil {
		t.Fatal(err)
	}
	after := readFiles(t, driver)
	if got := recordNames(Records(driver)); !slices.Equal(got, kept) || !after.valid(0) {
		t.Errorf("after Merge %q in %q", got, after.names())
	}
	want := before.records()
	maps.DeleteFunc(want, func(id RecordID, _ string) bool { return slices.Contains(gone, id.Name()) })
	if !maps.Equal(after.records(), want) {
		t.Errorf("records %q\nwant %q", after.records(), want)
	}
	for _, name := range []string{"shadercache3.toc", "shadercache3.bin", "other0.toc", "other0.bin"} {
		if string(after[name]) != string(before[name]) {
			t.Errorf("%s was changed", name)
		}
	}
	must(t, Drop(driver, kept, nil))
	if got, _ := Records(driver); len(got) != 0 {
		t.Errorf("left %v", got)
	}
	must(t, Drop(driver+"/missing", nil, nil))
}

// Watch sees what drivers append to slots, old and new, and not what was there before.
func TestWatch(t *testing.T) {
	f := files{}
	driver := f.write(t)
	w := NewWatch(driver, App)
	want := func(when string, records ...record) {
		t.Helper()
		got := w.Changes()
		if !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(names(records...)))) {
			t.Errorf("%s: %q", when, got)
		}
	}
	want("nothing")
	f.slot(0, 1, programs(10)...)
	f.writeTo(t, driver)
	want("a new slot", programs(10)...)
	w = NewWatch(driver, App)
	want("a new watch")
	f.slot(0, 1, programs(10, 20)...)
	f.writeTo(t, driver)
	want("one program", programs(20)...)
	f.slot(1, 1, programs(30)...)
	f.slot(0, 1, programs(10, 20, 40)...)
	f.writeTo(t, driver)
	want("both slots", append(programs(40), programs(30)...)...)
	want("nothing more")
}

// A record is deleted from a slot unless the slot was added, or made without it, afterwards.
func TestLinesOfADropList(t *testing.T) {
	record := RecordID{10}
	slot := folderMerge{folder: "folder"}
	other, added := record.Name()+"x", slot.path(1)
	for lines, want := range map[string]bool{
		"":                                 false,
		other:                              false,
		record.Name():                      true,
		added:                              false,
		record.Name() + "|" + slot.path(2): true,
		record.Name() + "|" + added:        false,
		added + "|" + record.Name():        true,
		record.Name() + "|" + added + "|" + other:         false,
		record.Name() + "|" + added + "|" + record.Name(): true,
		record.Name() + "|" + stem(SlotOf(1)):             true,
	} {
		slot.drop = parseDropList(strings.Split(lines, "|"))
		if got := slot.drops(1, record); got != want {
			t.Errorf("%s: %v", lines, got)
		}
	}
	slot.drop = parseDropList([]string{record.Name(), stem(SlotOf(1))})
	if slot.drops(SlotOf(1), record) || slot.drops(SlotOf(1)+1, record) || !slot.drops(SlotOf(2), record) {
		t.Error("not the slots of the process alone are spared")
	}
}
