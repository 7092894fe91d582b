// Package scenetest draws the sample picture of the project: five spheres on a
// checkerboard under a cloudy sky, traced ray by ray. It has what filters show
// on: hard edges, soft shadows, mirrors, texture and smooth gradients.
package scenetest

import (
	"image"
	"image/color"
	"math"
)

// surface is what the light meets.
type surface struct {
	colour  vector
	mirror  float64 // share of light that is reflected as by a mirror
	veins   float64 // strength of the marble texture
	pattern bool    // a checkerboard
}

// sphere stands on the floor or floats above it.
type sphere struct {
	centre vector
	radius float64
	surface
}

var spheres = []sphere{
	{vector{-1.55, 1.0, 4.6}, 1.0, surface{colour: vector{0.82, 0.20, 0.13}, mirror: 0.08}},
	{vector{0.75, 1.25, 5.6}, 1.25, surface{colour: vector{0.90, 0.92, 0.95}, mirror: 0.75}},
	{vector{2.35, 0.7, 3.9}, 0.7, surface{colour: vector{0.86, 0.83, 0.72}, veins: 1, mirror: 0.05}},
	{vector{0.05, 0.45, 3.1}, 0.45, surface{colour: vector{0.14, 0.36, 0.78}, mirror: 0.18}},
	{vector{-0.75, 0.26, 2.55}, 0.26, surface{colour: vector{0.95, 0.72, 0.14}, mirror: 0.10}},
}

var (
	floor  = surface{pattern: true, mirror: 0.06}
	eye    = vector{0.1, 1.55, -1.3}
	target = vector{0.25, 0.85, 4.4}
	sun    = vector{-0.55, 0.80, -0.42}.unit()
)

const (
	zoom       = 1.55
	samples    = 3 // along each side of a pixel
	maxBounces = 3
	nearby     = 1e-6
)

// Render draws the scene. The picture depends on the size alone.
func Render(width, height int) *image.NRGBA { return RenderRows(width, height, 1) }

// RenderRows draws the rows of the scene whose number is a multiple of every. The others are
// transparent.
func RenderRows(width, height, every int) *image.NRGBA {
	forward := target.minus(eye).unit()
	right := vector{forward.z, 0, -forward.x}.unit()
	up := vector{
		forward.y*right.z - forward.z*right.y,
		forward.z*right.x - forward.x*right.z,
		forward.x*right.y - forward.y*right.x,
	}
	picture := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := 0; y < height; y += every {
		for x := range width {
			var light vector
			for i := range samples * samples {
				across := float64(x) + (float64(i%samples)+0.5)/samples - float64(width)/2
				down := float64(y) + (float64(i/samples)+0.5)/samples - float64(height)/2
				side := right.times(across * 2 / float64(height))
				toward := forward.times(zoom).plus(side).minus(up.times(down * 2 / float64(height)))
				light = light.plus(trace(ray{eye, toward.unit()}, 0))
			}
			picture.SetNRGBA(x, y, pixel(light.times(1.0/(samples*samples))))
		}
	}
	return picture
}

// trace is the light that arrives along a ray.
func trace(r ray, bounce int) vector {
	distance, normal, s, hit := meet(r)
	if !hit {
		return sky(r.toward)
	}
	p := r.at(distance)
	diffuse := max(0, normal.dot(sun)) * sunlight(p)
	ambient := 0.17 + 0.09*normal.y
	light := s.paint(p).tinted(vector{ambient + 0.95*diffuse, ambient + 0.92*diffuse, 1.08*ambient + 0.84*diffuse})
	if diffuse > 0 && !s.pattern {
		shine := math.Pow(max(0, r.toward.mirrored(normal).dot(sun)), 60)
		light = light.plus(vector{1, 0.97, 0.9}.times(0.6 * shine * diffuse))
	}
	if s.mirror > 0 && bounce < maxBounces {
		grazing := math.Pow(1-math.Abs(normal.dot(r.toward)), 5)
		image := trace(ray{p, r.toward.mirrored(normal)}, bounce+1)
		light = mix(light, image, s.mirror+(1-s.mirror)*0.5*grazing)
	}
	haze := 1 - math.Exp(-0.0016*distance*distance)
	return mix(light, vector{0.74, 0.82, 0.90}, haze)
}

// meet finds the nearest surface along a ray.
func meet(r ray) (distance float64, normal vector, s surface, hit bool) {
	distance = math.Inf(1)
	if r.toward.y < 0 {
		distance, normal, s = -r.from.y/r.toward.y, vector{0, 1, 0}, floor
	}
	if distance < nearby {
		distance = math.Inf(1)
	}
	for _, ball := range spheres {
		if d := ball.distance(r); d < distance {
			distance, s = d, ball.surface
			normal = r.at(d).minus(ball.centre).times(1 / ball.radius)
		}
	}
	return distance, normal, s, !math.IsInf(distance, 1)
}

// distance is how far along a ray the sphere is, +Inf where the ray misses it.
func (s sphere) distance(r ray) float64 {
	away := r.from.minus(s.centre)
	half := away.dot(r.toward)
	root := half*half - away.dot(away) + s.radius*s.radius
	if root < 0 {
		return math.Inf(1)
	}
	if d := -half - math.Sqrt(root); d > nearby {
		return d
	}
	return math.Inf(1)
}

// sunlight is the share of the sun that reaches p, 0 to 1. The shadow's edge
// softens with the distance from the sphere that casts it.
func sunlight(p vector) float64 {
	share := 1.0
	for _, ball := range spheres {
		along := ball.centre.minus(p).dot(sun)
		if along <= 0 {
			continue
		}
		beside := p.plus(sun.times(along)).minus(ball.centre)
		gap := math.Sqrt(beside.dot(beside)) - ball.radius
		softness := 0.02 + 0.06*along
		share = min(share, min(1, max(0, 0.5+gap/softness)))
	}
	return share
}

// paint is the colour of the surface at p.
func (s surface) paint(p vector) vector {
	if s.pattern {
		tile := int(math.Floor(p.x)) + int(math.Floor(p.z))
		grain := 0.55 + 0.9*clouds(vector{p.x * 3, 0, p.z * 3})
		if tile&1 == 0 {
			return vector{0.80, 0.77, 0.70}.times(grain)
		}
		return vector{0.24, 0.27, 0.30}.times(grain)
	}
	if s.veins > 0 {
		wave := math.Abs(math.Sin(3*p.x + 4*p.y + 9*clouds(p.times(2.4))))
		return mix(vector{0.30, 0.20, 0.16}, s.colour, math.Pow(wave, 0.6))
	}
	return s.colour
}

// sky is a gradient with clouds that flatten towards the horizon.
func sky(toward vector) vector {
	height := max(0, toward.y)
	blue := mix(vector{0.76, 0.84, 0.92}, vector{0.20, 0.42, 0.76}, math.Sqrt(height))
	over := vector{toward.x, 0, toward.z}.times(1.4 / (height + 0.18))
	cover := min(1, max(0, 2.6*(clouds(over.plus(vector{7, 3, 1}))-0.46)))
	return mix(blue, vector{0.97, 0.97, 0.98}, 0.85*cover*min(1, 6*height))
}

// pixel turns light into the display's numbers.
func pixel(light vector) color.NRGBA {
	level := func(v float64) uint8 {
		return uint8(math.Round(255 * math.Pow(min(1, max(0, v)), 1/1.7)))
	}
	return color.NRGBA{level(light.x), level(light.y), level(light.z), 255}
}
