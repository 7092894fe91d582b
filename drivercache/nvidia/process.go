package nvidia

import "strconv"

// Processes that run at the same time have a slot each, made from that of the others
// before the first program. Which one is in its name: the driver opens the first slot of
// an application's name that no other process uses, and appends the slot's number to it.
//
//	process  __GL_SHADER_DISK_CACHE_APP_NAME  its slot
//	0        shadercache                      shadercache0, as for a process alone
//	n        shadercache<99+n>                shadercache<99+n>0
const firstProcess = 100

// AppOf returns the name that process n of a directory gives the driver.
func AppOf(n int) string {
	if n == 0 {
		return App
	}
	return App + strconv.Itoa(firstProcess-1+n)
}

// SlotOf returns the number of the slot that process n uses.
func SlotOf(n int) int {
	if n == 0 {
		return 0
	}
	return 10 * (firstProcess - 1 + n)
}

// ProcessOf returns the process whose slot it is, and 0 for slots of process 0 and of
// other programs.
func ProcessOf(slot int) int { return max(0, slot/10-firstProcess+1) }
