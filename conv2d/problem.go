package conv2d

import (
	"cmp"
	"math"
	"strings"
)

// maxFilterSide is the largest R and S: one row of a filter must fit into the
// loop budget of one dispatch.
const maxFilterSide = maxLoopIterations - 2

// Problem is a two-dimensional convolution as machine learning defines it: the filter
// is not flipped, and padding adds nothing to a sum. Some algorithms store zeros for
// padding: there an infinite or NaN weight on padding makes NaN, see [Choice].
//
//	tensor   layout  dimensions
//	input    NCHW    N x C x H x W
//	weights  KCRS    K x C/Groups x R x S
//	bias     K       where Bias is set
//	output   NKPQ    N x K x P x Q
//
// With groups, the first K/Groups filters see the first C/Groups channels, and so on;
// C groups make it depthwise. Strides, dilations and groups of 0 mean 1. The zero
// Problem is not valid.
type Problem struct {
	N int // images
	C int // input channels
	H int // input rows
	W int // input columns
	K int // filters, which is output channels
	R int // filter rows
	S int // filter columns

	StrideH, StrideW     int
	PadH, PadW           int // zero rows above and below, columns left and right
	DilationH, DilationW int // distance between neighbouring taps

	Groups     int        // divides C and K
	Bias       bool       // a bias is added to each filter's output
	Activation Activation // applied last
}

// P is the number of output rows, 0 where the filter does not fit.
func (p Problem) P() int { return outputSide(p.H, p.PadH, p.R, p.DilationH, p.StrideH) }

// Q is the number of output columns, 0 where the filter does not fit.
func (p Problem) Q() int { return outputSide(p.W, p.PadW, p.S, p.DilationW, p.StrideW) }

func outputSide(size, pad, filter, dilation, stride int) int {
	room := size + 2*pad - filterSpan(filter, dilation)
	if room < 0 {
		return 0
	}
	return room/orOne(stride) + 1
}

// filterSpan is the distance from a filter's first to its last tap, plus one.
func filterSpan(filter, dilation int) int { return (filter-1)*orOne(dilation) + 1 }

func orOne(v int) int { return cmp.Or(v, 1) }

// InputLen is the number of input elements of a valid problem.
func (p Problem) InputLen() int { return int(product(p.N, p.C, p.H, p.W)) }

// WeightsLen is the number of weights of a valid problem.
func (p Problem) WeightsLen() int { return int(product(p.K, p.groupC(), p.R, p.S)) }

// BiasLen is the number of elements of the bias, 0 where the problem has none.
func (p Problem) BiasLen() int {
	if !p.Bias {
		return 0
	}
	return p.K
}

// OutputLen is the number of output elements of a valid problem.
func (p Problem) OutputLen() int { return int(product(p.N, p.K, p.P(), p.Q())) }

func (p Problem) sizes() sizes {
	return sizes{input: p.InputLen(), weights: p.WeightsLen(), bias: p.BiasLen(), output: p.OutputLen()}
}

func (p Problem) elements() int     { return p.OutputLen() }
func (p Problem) keepsOutput() bool { return false }

// ReductionLen is the number of products in the sum of one output element,
// C/Groups*R*S.
func (p Problem) ReductionLen() int { return int(product(p.groupC(), p.R, p.S)) }

// groupC and groupK are the channels and filters of one group.
func (p Problem) groupC() int { return p.C / orOne(p.Groups) }
func (p Problem) groupK() int { return p.K / orOne(p.Groups) }

// FLOPs is 2*N*K*P*Q*C/Groups*R*S: a multiplication and an addition for every tap, taps
// on padding included. It saturates at math.MaxInt64, which Validate refuses.
func (p Problem) FLOPs() int64 {
	return product(2, p.N, p.K, p.P(), p.Q(), p.groupC(), p.R, p.S)
}

// Validate returns every fault of the problem, joined, or nil.
func (p Problem) Validate() error {
	var f faults
	f.within(1, fields{{"N", p.N}, {"C", p.C}, {"H", p.H}, {"W", p.W}, {"K", p.K}, {"R", p.R}, {"S", p.S}})
	f.within(0, fields{
		{"StrideH", p.StrideH}, {"StrideW", p.StrideW}, {"PadH", p.PadH}, {"PadW", p.PadW},
		{"DilationH", p.DilationH}, {"DilationW", p.DilationW}, {"Groups", p.Groups},
	})
	f.divisible("C", p.C, p.Groups)
	f.divisible("K", p.K, p.Groups)
	if !p.Activation.valid() {
		f.addf("there is no %v", p.Activation)
	}
	p.checkSizes(&f)
	return f.of(p, "problem")
}

// checkSizes adds the faults of the derived sizes, as far as the fields that they
// come from are in range, so that no sum of two of them overflows.
func (p Problem) checkSizes(f *faults) {
	rows := f.side("R", p.R, p.DilationH, "H", p.H, p.PadH)
	columns := f.side("S", p.S, p.DilationW, "W", p.W, p.PadW)
	if inRange(1, p.N, p.C, p.H, p.W) {
		f.tensor("input", p.N, p.C, p.H, p.W)
	}
	if inRange(1, p.K, p.C, p.R, p.S) {
		f.tensor("weights", p.K, p.groupC(), p.R, p.S)
	}
	if rows && columns && inRange(1, p.N, p.K) && inRange(0, p.StrideH, p.StrideW) {
		f.tensor("output", p.N, p.K, p.P(), p.Q())
		if inRange(1, p.C) && p.FLOPs() == math.MaxInt64 {
			f.addf("the number of operations passes %d", int64(math.MaxInt64))
		}
	}
}

// divisible adds a fault where channels cannot be divided among groups.
func (f *faults) divisible(name string, channels, groups int) {
	if groups > 1 && channels%groups != 0 {
		f.addf("%s is %d, not divisible by %d groups", name, channels, groups)
	}
}

// side adds the faults of one filter side against the input side that it slides
// along, and reports whether both are in range.
func (f *faults) side(filterName string, filter, dilation int, inputName string, input, pad int) bool {
	if !inRange(1, filter, input) || !inRange(0, dilation, pad) {
		return false // noted already
	}
	if filter > maxFilterSide {
		f.addf("%s is %d, must be at most %d", filterName, filter, maxFilterSide)
		return false
	}
	span, padded := filterSpan(filter, dilation), input+2*pad
	if padded > maxElements {
		f.addf("%s with padding is %d, must be at most %d", inputName, padded, maxElements)
	}
	if span > padded {
		f.addf("the filter spans %d along %s, but the padded input has %d", span, inputName, padded)
	}
	return true
}

// String returns the problem in one short line, such as "1x3x224x224-64 7x7 s2 p3": the
// fields that are set, as they are in a shape.
func (p Problem) String() string {
	return strings.ReplaceAll(strings.TrimPrefix(p.word(), convPrefix), ",", " ")
}
