package recording

import "github.com/shadercache/shadercache/shader"

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
	var missing []shader.Digest
	for _, d := range ours {
		if !has[d] {
			missing = append(missing, d)
		}
	}
	r.Logs().Sort(missing)
	return missing, nil
}
