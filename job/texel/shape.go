package texel

import (
	"cmp"
	"errors"
	"fmt"
)

// Errors of shapes and regions. They are returned wrapped.
var (
	// ErrShape is returned for a texture that the device does not have; with a server,
	// job.ErrInvalid is.
	ErrShape = errors.New("the device has no such texture")
	// ErrRegion is returned for texels that are not in the texture, for memory that does not
	// have their size, and for a format that cannot do it.
	ErrRegion = errors.New("the texels cannot be transferred")
)

// Shape is what a texture is made as. Its storage does not change.
type Shape struct {
	// Dim is how the names of its images and samplers end in GLSL: "1D", "2D", "3D", "Cube",
	// "1DArray", "2DArray" or "CubeArray". Default: "2D"
	Dim    string
	Format Format

	// Size in texels of level 0. A 1D texture has a Height of 1, a cube map one that
	// equals Width. 0 means 1.
	Width, Height int

	// Depth is that of a 3D texture, the number of layers of an array, or of cubes of
	// a cube map array. 0 means 1.
	Depth int

	// Levels is the number of mipmap levels. 0 means 1.
	Levels int
}

// Region is a box of texels of one level. Layers count along Z: of an array, of a cube
// map six for each cube in the order +X, -X, +Y, -Y, +Z, -Z.
type Region struct {
	Level   int
	X, Y, Z int
	Width   int // 0: all from X on, and likewise for the others
	Height  int
	Depth   int
}

const cubeFaces = 6

// WithDefaults returns the shape without zeros.
func (s Shape) WithDefaults() Shape {
	s.Dim = cmp.Or(s.Dim, "2D")
	for _, n := range []*int{&s.Width, &s.Height, &s.Depth, &s.Levels} {
		if *n == 0 {
			*n = 1
		}
	}
	return s
}

// Layers returns the number of layers that a level has in Region.Z: 1 where Z is no
// layer or there is one only.
func (s Shape) Layers() int {
	switch s.Dim {
	case "Cube":
		return cubeFaces
	case "CubeArray":
		return cubeFaces * s.Depth
	case "1DArray", "2DArray":
		return s.Depth
	}
	return 1
}

// LevelSize returns the size of a level in texels; depth counts layers where there are
// any.
func (s Shape) LevelSize(level int) (width, height, depth int) {
	width, height, depth = max(1, s.Width>>level), max(1, s.Height>>level), s.Layers()
	if s.Dim == "3D" {
		depth = max(1, s.Depth>>level)
	}
	return width, height, depth
}

// MaxLevels returns the number of levels down to one texel.
func (s Shape) MaxLevels() int {
	longest := max(s.Width, s.Height)
	if s.Dim == "3D" {
		longest = max(longest, s.Depth)
	}
	n := 1
	for ; longest > 1; longest >>= 1 {
		n++
	}
	return n
}

// Bytes returns the size of all texels, levels included. A driver may take more.
func (s Shape) Bytes() int {
	total := 0
	for level := range s.Levels {
		w, h, d := s.LevelSize(level)
		total += w * h * d * s.Format.Bytes()
	}
	return total
}

// Check returns the shape without zeros, or ErrShape where the device does not have it.
func (s Shape) Check(l Limits) (Shape, error) {
	s = s.WithDefaults()
	if err := s.check(l); err != nil {
		return s, fmt.Errorf("%w: %w", ErrShape, err)
	}
	return s, nil
}

func (s Shape) check(l Limits) error {
	if !s.Format.Known() {
		return fmt.Errorf("format %q is not known: use the word of an image in GLSL, such as rgba8", s.Format)
	}
	side, depth := l.Size, 1
	switch s.Dim {
	case "1D", "2D":
	case "3D":
		side, depth = l.Size3D, l.Size3D
	case "Cube":
		side = l.SizeCube
	case "1DArray", "2DArray":
		depth = l.Layers
	case "CubeArray":
		side, depth = l.SizeCube, l.Layers/cubeFaces
	default:
		return fmt.Errorf("a texture cannot be %s", s.Dim)
	}
	isCube := s.Dim == "Cube" || s.Dim == "CubeArray"
	switch {
	case s.Width < 1 || s.Height < 1 || s.Depth < 1:
		return fmt.Errorf("a size of %d by %d by %d", s.Width, s.Height, s.Depth)
	case s.Width > side || s.Height > side || s.Depth > depth:
		return fmt.Errorf("%d by %d by %d texels, this device allows %d by %d by %d of a %s texture",
			s.Width, s.Height, s.Depth, side, side, depth, s.Dim)
	case (s.Dim == "1D" || s.Dim == "1DArray") && s.Height != 1:
		return fmt.Errorf("a height of %d: a %s texture has 1", s.Height, s.Dim)
	case isCube && s.Height != s.Width:
		return fmt.Errorf("the faces of a cube are squares, not %d by %d", s.Width, s.Height)
	case s.Format.Depth() && s.Dim == "3D":
		return fmt.Errorf("a 3D texture cannot hold %s", s.Format)
	case s.Levels < 1 || s.Levels > s.MaxLevels():
		return fmt.Errorf("%d levels, %d by %d by %d texels have at most %d", s.Levels, s.Width, s.Height, s.Depth, s.MaxLevels())
	}
	return nil
}

// Within returns the region with its defaults filled in, or ErrRegion where it is not in a
// texture of the shape.
func (s Shape) Within(r Region) (Region, error) {
	if err := s.fill(&r); err != nil {
		return r, fmt.Errorf("%w: %w", ErrRegion, err)
	}
	return r, nil
}

func (s Shape) fill(r *Region) error {
	if r.Level < 0 || r.Level >= s.Levels {
		return fmt.Errorf("level %d of %d", r.Level, s.Levels)
	}
	w, h, d := s.LevelSize(r.Level)
	for _, side := range []struct {
		at, n *int
		all   int
	}{{&r.X, &r.Width, w}, {&r.Y, &r.Height, h}, {&r.Z, &r.Depth, d}} {
		if *side.n == 0 {
			*side.n = side.all - *side.at
		}
		if *side.at < 0 || *side.n < 1 || *side.n > side.all-*side.at {
			return fmt.Errorf("texels %d,%d,%d and %d by %d by %d from there, level %d has %d by %d by %d",
				r.X, r.Y, r.Z, r.Width, r.Height, r.Depth, r.Level, w, h, d)
		}
	}
	return nil
}

// Limits are the limits of a device for textures, images and samplers.
type Limits struct {
	Size         int `json:"size"`          // texels of a side, 1D and 2D
	Size3D       int `json:"size_3d"`       // texels of a side, 3D
	SizeCube     int `json:"size_cube"`     // texels of a side of a cube map
	Layers       int `json:"layers"`        // of an array
	ImageUnits   int `json:"image_units"`   // of all programs
	Images       int `json:"images"`        // of one compute program
	TextureUnits int `json:"texture_units"` // of all programs
	Samplers     int `json:"samplers"`      // of one compute program
}

// AllLayers binds every layer of a level: for imageCube, image3D and arrays.
const AllLayers = -1

// RegionBytes returns the number of bytes of the texels of a region, without padding, or
// an error where it is not in the texture.
func (s Shape) RegionBytes(r Region) (int, error) {
	r, err := s.Within(r)
	return r.Width * r.Height * r.Depth * s.Format.Bytes(), err
}
