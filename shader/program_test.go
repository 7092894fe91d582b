package shader

import (
	"slices"
	"testing"
)

func TestInterfaceDigest(t *testing.T) {
	resources := []Resource{
		{Kind: StorageBuffer, Name: "In", Binding: 0, Bytes: 16},
		{Kind: StorageBuffer, Name: "Out", Binding: 1, Bytes: 16},
		{Kind: Uniform, Name: "bias", Binding: 3, Bytes: 1, Type: 0x1406},
	}
	sorted := Interface{WorkGroup: [3]uint32{8, 8, 1}, Resources: slices.Clone(resources)}
	shuffled := Interface{WorkGroup: sorted.WorkGroup, Resources: []Resource{resources[2], resources[1], resources[0]}}
	shuffled.Sort()
	if !slices.Equal(shuffled.Resources, resources) || shuffled.Digest() != sorted.Digest() {
		t.Errorf("sorted %v, want %v", shuffled.Resources, resources)
	}
	for name, change := range map[string]func(*Interface){
		"work group": func(i *Interface) { i.WorkGroup[2] = 2 },
		"kind":       func(i *Interface) { i.Resources[0].Kind = UniformBuffer },
		"name":       func(i *Interface) { i.Resources[0].Name = "in" },
		"binding":    func(i *Interface) { i.Resources[0].Binding = 2 },
		"bytes":      func(i *Interface) { i.Resources[0].Bytes = 32 },
		"resource":   func(i *Interface) { i.Resources = i.Resources[:2] },
		"type":       func(i *Interface) { i.Resources[2].Type = 0x8B52 },
		"unit":       func(i *Interface) { i.Resources[2].Unit = 1 },
	} {
		other := Interface{WorkGroup: sorted.WorkGroup, Resources: slices.Clone(resources)}
		change(&other)
		if other.Digest() == sorted.Digest() {
			t.Errorf("another %s: the same digest", name)
		}
	}
}

// TestInterfaceMatchesOldDigests holds the digest of an interface as it was stored before
// it had types.
func TestStoredInterfaceDigest(t *testing.T) {
	i := Interface{WorkGroup: [3]uint32{8, 8, 1}, Resources: []Resource{
		{Kind: StorageBuffer, Name: "In", Binding: 0, Bytes: 16},
		{Kind: Uniform, Name: "bias", Binding: 3, Bytes: 1, Type: 0x1406},
	}}
	const stored = "b6c70cc0176021bf1dd14f7a856a5c204841a5dc103ee79f5614be4995e6fd2f"
	if digest := i.Digest().String(); digest != stored {
		t.Errorf("the digest, which blobs have, is %s", digest)
	}
	other := i
	other.Resources = slices.Clone(i.Resources)
	other.Resources[1].Type = 0x8B52
	if other.Digest() == i.Digest() {
		t.Error("another type has the same digest")
	}
}
