package drivercache

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/shadercache/shadercache/drivercache/nvidia"
	"github.com/shadercache/shadercache/internal/osfile"
)

// A slot for each process.
//
// One process reads a slot of NVIDIA's driver; others that start meanwhile would make all
// machine code again. So each process takes the lowest number that no other one has, a
// byte of the directory's lock file that the system unlocks at its end, and has the driver
// use the slot of that number. While EGL and the context start, that slot gets what the
// others have, also those that processes left which ended, however they did. These are
// deleted then. What a process adds to its slot later ones find in the same way, or in
// slot 0, into which the next start that finds the directory unused merges all.

// maxProcesses is the number of processes with a slot of their own. Further ones use slot
// 0 or one that the driver makes, and compile again what is not there.
const maxProcesses = 64

// fillerWait is far longer than a copy takes, and than all of a start with many others.
const fillerWait = 2 * time.Second

// AppName is the variable that chooses the slot in a directory of slots.
const AppName = "__GL_SHADER_DISK_CACHE_APP_NAME"

const slotsPath = "__GL_SHADER_DISK_CACHE_PATH" // that directory

// takeNumber takes the lowest free number, from first on, of the processes that use the folder. Where all
// are taken, or the file system or the system has no such locks, it returns 0 and false: slot 0 may
// be that of another process.
func (l *Lock) takeNumber(first int) (n int, own bool) {
	for n := first; n < maxProcesses; n++ {
		if osfile.HasByteLocks && osfile.TryLockByte(l.file, int64(n)) == nil {
			return n, true
		}
	}
	return 0, false
}

// fillSlot brings the slot of this process up to date, before its first program. It costs
// the reading of a folder where there are no others. An error means that the driver makes
// again what is missing.
func (l *Lock) fillSlot(number int) error {
	defer l.beOnlyFiller()()
	var ended []int
	defer func() {
		for _, n := range ended {
			osfile.UnlockByte(l.file, int64(n))
		}
	}()
	mayDelete := func(slot int) bool { // that of a process that ended, whose number no other takes meanwhile
		n := nvidia.ProcessOf(slot)
		if n == 0 || n >= maxProcesses || n != number && osfile.TryLockByte(l.file, int64(n)) != nil {
			return false
		}
		if n != number { // its own stays locked
			ended = append(ended, n)
		}
		return true
	}
	if number > 0 {
		if err := checkSlotRoom(l.folder, nvidia.SlotOf(number), mayDelete); err != nil {
			return err
		}
	}
	listed, err := readDropList(l.folder)
	if err == nil {
		_, err = nvidia.MergeInto(l.folder, nvidia.SlotOf(number), mayDelete, listed)
	}
	if err == nil && number > 0 {
		err = keep(l.folder, listed, nvidia.AppOf(number)+"0") // before its driver makes anything in it
	}
	if err != nil {
		return fmt.Errorf("drivercache: a slot for this process: %w", err)
	}
	return nil
}

// beOnlyFiller waits until no other process fills its slot, since one moves what is left of
// those that ended. It returns a function that ends that. After fillerWait it goes on: a
// process that is stopped keeps nobody from starting.
func (l *Lock) beOnlyFiller() (end func()) {
	for deadline := time.Now().Add(fillerWait); time.Now().Before(deadline); time.Sleep(lockPoll) {
		if !errors.Is(osfile.TryLockByte(l.file, maxProcesses), osfile.ErrLocked) {
			return func() { osfile.UnlockByte(l.file, maxProcesses) }
		}
	}
	return func() {}
}

// checkSlotRoom returns an error where another copy of all records would take more than half of
// the volume's free space, or all slots more than the limit of the driver's cache. Of those it
// counts neither the one that the copy replaces nor those that are deleted then.
func checkSlotRoom(dir string, replaced int, mayDelete func(slot int) bool) error {
	total, added, largest := int64(0), int64(0), int64(0) // slots of no process have records of their own
	for _, path := range nvidia.SlotFiles(dir) {
		if info, err := os.Lstat(path); err == nil {
			slot := replaced
			_, _ = fmt.Sscanf(info.Name(), nvidia.App+"%d.", &slot)
			if slot != replaced && !mayDelete(slot) {
				total += info.Size()
			}
			if nvidia.ProcessOf(slot) == 0 {
				added += info.Size()
			}
			largest = max(largest, info.Size(), added)
		}
	}
	free, known := osfile.FreeBytes(dir)
	if total+largest > maxBytes || known && largest > free/2 {
		return fmt.Errorf("drivercache: a slot for this process would take %d bytes more, beside %d: %w", largest, total, osfile.ErrNoSpace)
	}
	return nil
}

// startFilling has the slot of this process filled while EGL starts, unless it is alone, has no
// number, or the user chose another slot. The caller holds process.
func startFilling(dir string, alone bool) {
	process.filled = make(chan struct{})
	process.fills = process.fills && os.Getenv(AppName) == nvidia.AppOf(process.number) && os.Getenv(slotsPath) == filepath.Join(dir, nvidia.Folder)
	if !process.fills || alone && process.number == 0 {
		close(process.filled)
		return
	}
	go func() {
		defer close(process.filled)
		process.fillErr = process.lock.fillSlot(process.number)
	}()
}

// When the drivers read their caches, and so until when files may be added that this
// process is to find:
//
//	NVIDIA  at the first load or compile of the process, not when the context is made:
//	        it opens its slots then, and sees nothing that is added later
//	Mesa    at each load or compile: a file for each entry
//
// So a process that manages a directory does not use the slots in it before its first
// program, though it holds the shared lock, and they may be merged until then.

// FirstProgram records that the driver of this process is about to load or compile a
// program. It waits while files that the driver is to find are put into the managed
// directory, and has the slot of this process filled again where something was added since.
// Package glctx calls it before each program; only the first call costs something. A program
// with a context of its own calls it where it also calls [Merge], or an import, in the same
// process.
func FirstProgram() {
	if process.programs.Load() {
		return
	}
	process.Lock()
	defer process.Unlock()
	if !process.programs.Load() && process.filled != nil {
		<-process.filled
		if process.stale && process.fills {
			process.fillErr = process.lock.fillSlot(process.number)
		}
		process.stale = false
	}
	process.programs.Store(true)
}

// beforeFirstProgram calls work while this process's lock on dir is exclusive, and reports
// whether it did. It does not where this process does not manage dir, or has had a program,
// or is not the only one. What work or other processes add the first program finds.
func beforeFirstProgram(dir string, work func()) bool {
	process.Lock()
	defer process.Unlock()
	if process.programs.Load() || process.lock == nil || !process.state.IsIn(dir) {
		return false
	}
	<-process.filled
	process.stale = true
	return process.lock.exclusively(work)
}

// Renew has [FirstProgram] fill the slot of this process again: another process may have
// added to its own. It does nothing after the first program.
func Renew() {
	process.Lock()
	defer process.Unlock()
	process.stale = true
}

// isSlotName reports whether a value of AppName is one that this package sets.
func isSlotName(value string) bool {
	for n := range maxProcesses {
		if value == nvidia.AppOf(n) {
			return true
		}
	}
	return false
}
