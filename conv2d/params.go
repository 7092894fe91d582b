//go:build linux

package conv2d

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/shadercache/shadercache/internal/strict"
	"github.com/shadercache/shadercache/shader"
)

// Params are the parameters of an algorithm, which its kernel takes as defines and
// which decide its grid. Each algorithm has a type:
//
//	type             algorithms
//	BlockParams      gemm_block
//	SkinnyParams     gemm_row
//	MicroParams      gemm_register, conv2d_register
//	CPUParams        gemm_cpu, conv2d_cpu
//	TiledParams      gemm_tiled
//	ImplicitParams   implicit, winograd2, winograd4
//	FusedParams      winograd2_fused
//	DepthwiseParams  depthwise
//	DirectParams     direct
//	UnknownParams    those of a file that no algorithm has
//
// As JSON and as text the parameters are in alphabetical order, such as "bk=8 bm=128".
type Params interface{ String() string }

// UnknownParams are the parameters of an algorithm that does not exist, or not any
// more. Nothing can be built with them.
type UnknownParams map[string]int

// String returns the parameters as text.
func (p UnknownParams) String() string { return paramsText(p) }

func paramsText(p Params) string {
	var parts []string
	for name, v := range named(p) {
		parts = append(parts, fmt.Sprintf("%s=%d", name, v))
	}
	return strings.Join(parts, " ")
}

// named yields parameters in alphabetical order, which is that of the fields, without
// those that are 0 and may be missing.
func named(p Params) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		if unknown, ok := p.(UnknownParams); ok {
			for _, name := range slices.Sorted(maps.Keys(unknown)) {
				if !yield(name, unknown[name]) {
					return
				}
			}
			return
		}
		for field, v := range reflect.ValueOf(p).Fields() {
			name, option, _ := strings.Cut(field.Tag.Get("json"), ",")
			if v.Int() == 0 && option == "omitempty" {
				continue
			}
			if !yield(name, int(v.Int())) {
				return
			}
		}
	}
}

// paramDefines returns parameters as a kernel takes them: in capitals.
func paramDefines(p Params) shader.Defines {
	d := shader.Defines{}
	for name, v := range named(p) {
		d[strings.ToUpper(name)] = strconv.Itoa(v)
	}
	return d
}

// maxParam is far beyond any parameter that makes sense.
const maxParam = 4096

// checkRange fails for parameters that no kernel has: they may come from a file.
func checkRange(p Params) error {
	for name, v := range named(p) {
		if v < 0 || v > maxParam {
			return fmt.Errorf("conv2d: parameter %s is %d, must be from 0 to %d", name, v, maxParam)
		}
	}
	return nil
}

// paramDecoders read the parameters of each algorithm.
var paramDecoders = decodersOf(gemmAlgorithms, convAlgorithms)

func decodersOf(products []algorithm[GEMMProblem], convolutions []algorithm[Problem]) map[string]func(data []byte) (Params, error) {
	decoders := map[string]func(data []byte) (Params, error){}
	for _, a := range products {
		decoders[a.name] = a.decode
	}
	for _, a := range convolutions {
		decoders[a.name] = a.decode
	}
	return decoders
}

// decodeParams fails for parameters that T does not have.
func decodeParams[T Params](data []byte) (Params, error) {
	var p T
	if err := strict.Unmarshal(data, &p); err != nil {
		return nil, err
	}
	return p, nil
}

// UnmarshalJSON reads a choice. It fails without parameters, for parameters that the
// algorithm does not have, and for values that none has; those of an unknown algorithm
// become [UnknownParams].
func (c *Choice) UnmarshalJSON(data []byte) error {
	var raw struct {
		Algorithm string          `json:"algorithm"`
		Params    json.RawMessage `json:"params"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	*c = Choice{Algorithm: raw.Algorithm}
	decode, known := paramDecoders[raw.Algorithm]
	switch missing := len(raw.Params) == 0 || string(raw.Params) == "null"; {
	case missing && known:
		return fmt.Errorf("conv2d: %s without parameters", raw.Algorithm)
	case missing:
		return nil
	case !known:
		decode = decodeParams[UnknownParams]
	}
	params, err := decode(raw.Params)
	if err == nil && known {
		err = checkRange(params)
	}
	if err != nil {
		return fmt.Errorf("parameters of %s: %w", raw.Algorithm, err)
	}
	c.Params = params
	return nil
}
