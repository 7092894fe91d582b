package wire

// Plan makes a plan for a convolution, a matrix product or a network of them, or opens a
// named one. Its reply is a [PlanReply].
type Plan struct {
	ID    uint32
	Flags BufferFlags
	Name  []byte // empty: the plan is the session's own
	Spec  []byte // one shape a line, as conv2d.ParseShape reads it: the layers; empty opens a named plan
}

// Append appends the body to b.
func (m *Plan) Append(b []byte) []byte {
	b = appendU32(b, m.ID)
	b = append(b, byte(m.Flags))
	b = appendText(b, m.Name)
	return appendData(b, m.Spec)
}

// Decode fills m in from a body.
func (m *Plan) Decode(body []byte) error {
	f := fields{rest: body}
	m.ID, m.Flags, m.Name, m.Spec = f.u32(), f.bufferFlags(), f.text(MaxText), f.data()
	return f.end()
}

// PlanReply describes a plan. Lengths are in elements of 4 bytes.
type PlanReply struct {
	Created    bool
	HasWeights bool
	Version    uint64 // of the weights
	Input      uint64
	Weights    uint64 // of all layers
	Bias       uint64 // likewise
	Output     uint64
	Layers     []byte // a line for each: algorithm, basis of the choice and tolerance, with tabs between
	Programs   []byte // a line for each: name and origin, with a tab between
}

// Append appends the body to b.
func (m *PlanReply) Append(b []byte) []byte {
	b = appendBool(b, m.Created)
	b = appendBool(b, m.HasWeights)
	for _, v := range []uint64{m.Version, m.Input, m.Weights, m.Bias, m.Output} {
		b = appendU64(b, v)
	}
	return appendData(appendData(b, m.Layers), m.Programs)
}

// Decode fills m in from a body.
func (m *PlanReply) Decode(body []byte) error {
	f := fields{rest: body}
	m.Created, m.HasWeights = f.flag(), f.flag()
	for _, v := range []*uint64{&m.Version, &m.Input, &m.Weights, &m.Bias, &m.Output} {
		*v = f.u64()
	}
	m.Layers, m.Programs = f.data(), f.data()
	return f.end()
}

// Weights puts weights and bias of a plan on the device under a version. Those of several
// layers follow one another. With the version that is there nothing is read. Its reply is
// a [WeightsReply].
type Weights struct {
	Plan     uint32
	Version  uint64 // not 0
	Deadline uint64 // nanoseconds from its receipt; 0: Limits.Deadline
	Weights  Operand
	Bias     Operand // none where the plan has no bias
}

// Append appends the body to b.
func (m *Weights) Append(b []byte) []byte {
	b = appendU32(b, m.Plan)
	b = appendU64(b, m.Version)
	b = appendU64(b, m.Deadline)
	b = m.Weights.append(b, true)
	return m.Bias.append(b, true)
}

// Decode fills m in from a body.
func (m *Weights) Decode(body []byte) error {
	f := fields{rest: body}
	m.Plan, m.Version, m.Deadline = f.u32(), f.u64(), f.u64()
	f.operand(&m.Weights, true)
	f.operand(&m.Bias, true)
	return f.end()
}

// WeightsReply ends a Weights.
type WeightsReply struct{ Uploaded bool }

// Append appends the body to b.
func (m *WeightsReply) Append(b []byte) []byte { return appendBool(b, m.Uploaded) }

// Decode fills m in from a body.
func (m *WeightsReply) Decode(body []byte) error {
	f := fields{rest: body}
	m.Uploaded = f.flag()
	return f.end()
}

// Run runs a plan with the weights that are set. Its reply is a [Data] with the output
// where that is inline.
type Run struct {
	Plan     uint32
	Deadline uint64 // nanoseconds from its receipt; 0: Limits.Deadline
	Input    Operand
	Output   Operand
}

// Append appends the body to b.
func (m *Run) Append(b []byte) []byte {
	b = appendU32(b, m.Plan)
	b = appendU64(b, m.Deadline)
	b = m.Input.append(b, true)
	return m.Output.append(b, false)
}

// Decode fills m in from a body.
func (m *Run) Decode(body []byte) error {
	f := fields{rest: body}
	m.Plan, m.Deadline = f.u32(), f.u64()
	f.operand(&m.Input, true)
	f.operand(&m.Output, false)
	return f.end()
}

// Ring moves the session's later frames into shared memory. The frame carries a memfd, as
// for Memory, and an eventfd for which the server waits. Its reply is Empty. A frame of the
// same type for request 0 wakes a client that waits.
type Ring struct {
	Size uint32 // bytes of each of the two byte rings; a power of 2
}

// Append appends the body to b.
func (m *Ring) Append(b []byte) []byte { return appendU32(b, m.Size) }

// Decode fills m in from a body.
func (m *Ring) Decode(body []byte) error {
	f := fields{rest: body}
	m.Size = f.u32()
	return f.end()
}
