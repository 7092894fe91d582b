package top

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// processes returns the processes of this user that have files below a folder open or
// mapped, but for this one. Drivers keep their own cache so. Of processes of other users the
// system tells nothing.
func processes(folder string) []Process {
	folder, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return []Process{}
	}
	list := []Process{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() || !uses("/proc/"+e.Name(), folder+"/") {
			continue
		}
		p := Process{PID: pid, Name: "?"}
		if name, err := os.ReadFile("/proc/" + e.Name() + "/comm"); err == nil {
			p.Name = strings.TrimSpace(string(name))
		}
		if info, err := e.Info(); err == nil {
			p.Began = info.ModTime().UTC() // of its folder: when it began
		}
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b Process) int { return cmp.Or(b.Began.Compare(a.Began), cmp.Compare(b.PID, a.PID)) })
	return list
}

// uses reports whether a process has a file below a folder open or mapped.
func uses(proc, folder string) bool {
	if maps, err := os.ReadFile(proc + "/maps"); err == nil && bytes.Contains(maps, []byte(" "+folder)) {
		return true
	}
	files, _ := os.ReadDir(proc + "/fd")
	for _, f := range files {
		if path, err := os.Readlink(proc + "/fd/" + f.Name()); err == nil && strings.HasPrefix(path, folder) {
			return true
		}
	}
	return false
}
