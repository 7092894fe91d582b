package recording

import (
	"slices"

	"github.com/shadercache/shadercache/shader"
)

// Missing returns the programs of r that other lacks, in the order of r's logs. It reads
// no programs.
func (r *Recording) Missing(other *Recording) ([]shader.Digest, error) {
	ours, err := r.Digests()
	if err != nil {
		return nil, err
	}
	theirs, err := other.Digests()
	if err != nil {
		return nil, err
	}
	has := map[shader.Digest]bool{}
	for _, d := range theirs {
		has[d] = true
	}
	missing := slices.DeleteFunc(ours, func(d shader.Digest) bool { return has[d] })
	r.Logs().Sort(missing)
	return missing, nil
}
