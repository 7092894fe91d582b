package scenetest

import "math"

// vector is a point, a direction or a colour (red, green, blue from 0 to 1).
type vector struct{ x, y, z float64 }

func (a vector) plus(b vector) vector       { return vector{a.x + b.x, a.y + b.y, a.z + b.z} }
func (a vector) minus(b vector) vector      { return vector{a.x - b.x, a.y - b.y, a.z - b.z} }
func (a vector) times(f float64) vector     { return vector{a.x * f, a.y * f, a.z * f} }
func (a vector) tinted(b vector) vector     { return vector{a.x * b.x, a.y * b.y, a.z * b.z} }
func (a vector) dot(b vector) float64       { return a.x*b.x + a.y*b.y + a.z*b.z }
func (a vector) unit() vector               { return a.times(1 / math.Sqrt(a.dot(a))) }
func (a vector) mirrored(n vector) vector   { return a.minus(n.times(2 * a.dot(n))) }
func mix(a, b vector, share float64) vector { return a.times(1 - share).plus(b.times(share)) }

// ray is a half-line; toward has length 1.
type ray struct{ from, toward vector }

func (r ray) at(distance float64) vector { return r.from.plus(r.toward.times(distance)) }
