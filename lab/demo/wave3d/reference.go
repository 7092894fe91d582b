package wave3d

// Reference is the simulation on the CPU, which agrees with Sim in every bit.
type Reference struct {
	options       Options
	now, previous []float32
}

// NewReference makes a reference at step 0.
func NewReference(o Options) (*Reference, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	r := &Reference{options: o, now: make([]float32, 0, o.count())}
	for z := range o.Cells[2] {
		for y := range o.Cells[1] {
			for x := range o.Cells[0] {
				r.now = append(r.now, noise(o.Seed, x, y, z))
			}
		}
	}
	r.previous = append([]float32(nil), r.now...)
	return r, nil
}

// Step does n steps.
func (r *Reference) Step(n int) {
	for range n {
		i := 0
		for z := range r.options.Cells[2] {
			for y := range r.options.Cells[1] {
				for x := range r.options.Cells[0] {
					r.previous[i] = r.next(i, [3]int{x, y, z})
					i++
				}
			}
		}
		r.now, r.previous = r.previous, r.now
	}
}

// next returns the next value of a cell. Conversions keep the compiler from fusing
// operations.
func (r *Reference) next(i int, at [3]int) float32 {
	var pairs [3]float32
	stride := 1
	for axis, n := range r.options.Cells {
		var before, after float32
		if at[axis] > 0 {
			before = r.now[i-stride]
		}
		if at[axis]+1 < n {
			after = r.now[i+stride]
		}
		pairs[axis] = before + after
		stride *= n
	}
	u, courant2 := r.now[i], r.options.Courant*r.options.Courant
	sum := float32(pairs[0]+pairs[1]) + pairs[2]
	laplacian := sum - float32(6*u)
	onward := float32(2*u) + float32(courant2*laplacian)
	v := onward - r.previous[i]
	if v < 1e-25 && v > -1e-25 {
		return 0
	}
	return v
}

// Field returns the cells, x densest. It is valid until the next Step.
func (r *Reference) Field() []float32 { return r.now }
