package pack

// Content is what a bundle holds for one driver: GPUs with that folder in the cache directory
// find it there after an import.
type Content struct {
	Folder   string `json:"folder"`   // of the driver in the cache directory
	GPU      string `json:"gpu"`      // name of the GPUs that it serves
	Driver   string `json:"driver"`   // their driver and its build
	Programs int    `json:"programs"` // program binaries
	Tunings  int    `json:"tunings"`  // results of tuning
}

// contents returns what the manifest lists for each driver.
func (m *Manifest) contents() []Content {
	list, at := []Content{}, map[string]int{}
	for i, f := range m.Fingerprints {
		at[f.Dir] = i
		list = append(list, Content{Folder: f.Dir, GPU: f.Fingerprint.Renderer, Driver: f.Fingerprint.Vendor + " " + f.Fingerprint.Version})
	}
	for _, f := range m.Files {
		i, of := at[f.topFolder()]
		switch {
		case !of:
		case f.Kind == Program:
			list[i].Programs++
		case f.Kind == Tuning:
			list[i].Tunings++
		}
	}
	return list
}
