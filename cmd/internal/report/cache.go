package report

import "github.com/shadercache/shadercache/binary"

// CountOthers counts, for the programs of a start that were compiled, those of the same name
// and another source that the directory has for any driver, and that this start did not use.
func (s *Start) CountOthers(dir *binary.Dir) error {
	compiled, used := map[string][]int{}, map[string]bool{} // by name, by key
	for i, p := range s.Programs {
		used[p.Key] = true
		if p.Origin == "compiled" {
			compiled[p.Name] = append(compiled[p.Name], i)
		}
	}
	if len(compiled) == 0 {
		return nil
	}
	err := dir.EachStore(func(_ string, store *binary.Store) error {
		for e, err := range store.All() {
			if err != nil || used[e.Key.String()] {
				continue // a blob that cannot be read has no name
			}
			for _, i := range compiled[e.Name] {
				s.Programs[i].Others++
			}
		}
		return nil
	}, func(string) {})
	s.Advice = s.Advise()
	return err
}
