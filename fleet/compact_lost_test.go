package fleet

import (
	"testing"

	"github.com/shadercache/shadercache/fleet/pack"
)

// A merged pack has all that its parts have, but for damaged machine code that it names.
func TestPackThatLacksItems(t *testing.T) {
	const code = "driver/mesa/mesa_shader_cache/5e/884898da28047151d0e56f8dc6292773603d0d"
	items := []pack.Item{pack.ItemOf("sources/5e/a"), pack.ItemOf("driver/b"), pack.ItemOf(code)}
	for name, c := range map[string]struct {
		made madePack
		want int
	}{
		"all":         {madePack{items: items}, 0},
		"none":        {madePack{}, 3},
		"left out":    {madePack{items: items[:2], leftOut: []pack.LeftOut{{Path: code}}}, 0},
		"a program":   {madePack{items: items[1:], leftOut: []pack.LeftOut{{Path: "sources/5e/a"}}}, 1},
		"also others": {madePack{items: append([]pack.Item{pack.ItemOf("x")}, items...)}, 0},
	} {
		if got := c.made.lacks(items); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
