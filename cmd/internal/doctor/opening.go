package doctor

import "github.com/shadercache/shadercache/binary"

// examineOpening reports processes that ended while the driver made a GL context. It
// returns false where this process would be the next.
func (r *Report) examineOpening(dir *binary.Dir) bool {
	const check = "context"
	switch deaths := dir.DeathsWhileOpening(); deaths {
	case 0:
		return true
	case 1:
		r.note(check, "", "one process ended while the driver made a GL context; it may have been killed")
		return true
	default:
		r.wrong(check, "shadercache selftest", "the last %d processes ended while the driver made a GL context, so this one makes none: "+
			"update or reinstall the driver, then make one with the command below", deaths)
		return false
	}
}
