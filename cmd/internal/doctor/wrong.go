package doctor

import (
	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cmd/cli"
)

// examineWrong finds programs that the driver computes wrong right after a compile too.
func (r *Report) examineWrong(dir *binary.Dir) {
	const check, update = "answers", "update the driver, or leave these programs out"
	var wrong []string
	_ = dir.EachStore(func(_ string, store *binary.Store) error {
		for name, reason := range store.WrongPrograms() {
			wrong = append(wrong, name+": "+reason)
		}
		return nil
	}, nil)
	if len(wrong) > 0 {
		r.wrong(check, update, "the driver computes %s wrong, compiled or loaded, the first is %s",
			cli.Plural(len(wrong), "program"), wrong[0])
	}
}
