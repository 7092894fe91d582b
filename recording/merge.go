package recording

import (
	"fmt"
	"path"
	"strings"

	"github.com/shadercache/shadercache/shader"
)

// MergeReport is the result of a merge.
type MergeReport struct {
	Programs  int // added
	Present   int // programs that were there before
	Processes int // added

	// Damaged are programs and logs that were left out.
	Damaged []error
}

// Merge adds the programs and logs of a recording that this one lacks, as they are. What
// is damaged is left out and reported. progress, unless nil, is called after each program
// with the number of those that are done, and of all.
func (r *Recording) Merge(from *Recording, progress func(done, total int)) (m MergeReport, err error) {
	digests, err := from.Digests()
	if err != nil {
		return m, err
	}
	for i, d := range digests {
		if err := r.mergeProgram(from, d, &m); err != nil {
			return m, err
		}
		if progress != nil {
			progress(i+1, len(digests))
		}
	}
	err = from.each(processesFolder, processExt, func(name string) error {
		log, err := from.read(name, maxLogBytes)
		base := strings.TrimSuffix(path.Base(name), processExt)
		if err == nil {
			_, err = decodeProcess(base, log)
		}
		if err != nil || !isLogName(base) {
			m.Damaged = append(m.Damaged, fmt.Errorf("recording: %s: %w", name, orDamaged(err)))
			return nil
		}
		added, err := r.addLog(base, log)
		if added {
			m.Processes++
		}
		return err
	})
	return m, err
}

func (r *Recording) mergeProgram(from *Recording, d shader.Digest, m *MergeReport) error {
	content, err := from.programFile(d)
	if err == nil {
		_, err = decodeProgram(content)
	}
	if err != nil {
		m.Damaged = append(m.Damaged, fmt.Errorf("recording: program %s: %w", d.Short(), err))
		return nil
	}
	added, err := r.addProgramFile(d, content)
	if added {
		m.Programs++
	} else {
		m.Present++
	}
	return err
}

// orDamaged returns err, or that a name is none of a log.
func orDamaged(err error) error {
	if err == nil {
		return damaged("its name is none of a log")
	}
	return err
}
