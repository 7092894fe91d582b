package cache

// ParseOrigin returns the origin of a name, as String returns it, and 0 for another.
func ParseOrigin(name string) Origin {
	for _, o := range [...]Origin{Compiled, Disk, Memory, Resident} {
		if o.String() == name {
			return o
		}
	}
	return 0
}
