package binary

import "errors"

// EachStore calls visit with the store of each driver in the directory, in the order
// of their names, and closes the store afterwards. A driver whose fingerprint.json is
// lost, and whose fingerprint is in no other file, has no store: unknown, which may be
// nil, gets its folder's name.
func (d *Dir) EachStore(visit func(name string, store *Store) error, unknown func(name string)) error {
	infos, err := d.Drivers()
	if err != nil {
		return err
	}
	for _, info := range infos {
		if info.Fingerprint.DirName() != info.Dir {
			if unknown != nil {
				unknown(info.Dir)
			}
			continue
		}
		store, err := d.Store(info.Fingerprint)
		if err != nil {
			return err
		}
		if err := errors.Join(visit(info.Dir, store), store.Close()); err != nil {
			return err
		}
	}
	return nil
}
