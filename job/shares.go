package job

// Share is a part of a dimension.
type Share struct{ First, Len int }

// End returns the first index behind it.
func (s Share) End() int { return s.First + s.Len }

// Shares divides n into parts whose lengths differ by one at most, the longer ones first.
// Parts that would have none are left out.
func Shares(n, parts int) []Share {
	var list []Share
	for i, first := 0, 0; i < parts; i++ {
		size := n / parts
		if i < n%parts {
			size++
		}
		if size > 0 {
			list = append(list, Share{first, size})
		}
		first += size
	}
	return list
}
