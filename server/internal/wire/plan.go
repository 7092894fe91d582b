package wire

// Plan makes a plan for a convolution, a matrix product or a network of them, or opens a
// named one. Its reply is a [PlanReply].
type Plan struct {
	ID    uint32
	Flags BufferFlags
	Name  []byte // empty: the plan is the session's own
	Spec  []byte // one shape a line, as conv2d.ParseShape reads it: the layers; empty opens a named plan
}

func (m *Plan) layout(f *fields) {
	word(f, &m.ID)
	f.flags(&m.Flags, Create|Fresh|Exact)
	texts(f, &m.Name, MaxText)
	blob(f, &m.Spec)
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

func (m *PlanReply) layout(f *fields) {
	f.bool(&m.Created)
	f.bool(&m.HasWeights)
	for _, v := range [...]*uint64{&m.Version, &m.Input, &m.Weights, &m.Bias, &m.Output} {
		long(f, v)
	}
	blob(f, &m.Layers)
	blob(f, &m.Programs)
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

func (m *Weights) layout(f *fields) {
	word(f, &m.Plan)
	long(f, &m.Version)
	long(f, &m.Deadline)
	f.op(&m.Weights, true)
	f.op(&m.Bias, true)
}

// WeightsReply ends a Weights.
type WeightsReply struct{ Uploaded bool }

func (m *WeightsReply) layout(f *fields) {
	f.bool(&m.Uploaded)
}

// Run runs a plan with the weights that are set. Its reply is a [Data] with the output
// where that is inline.
type Run struct {
	Plan     uint32
	Deadline uint64 // nanoseconds from its receipt; 0: Limits.Deadline
	Input    Operand
	Output   Operand
}

func (m *Run) layout(f *fields) {
	word(f, &m.Plan)
	long(f, &m.Deadline)
	f.op(&m.Input, true)
	f.op(&m.Output, false)
}

// Ring moves the session's later frames into shared memory. The frame carries a memfd, as
// for Memory. Its reply is Empty.
type Ring struct {
	Size uint32 // bytes of each of the two byte rings; a power of 2
}

func (m *Ring) layout(f *fields) {
	word(f, &m.Size)
}
