//go:build linux

package conv2d

import (
	"context"
	"errors"
)

// WeightsLen is the number of weights of all layers, and BiasLen that of the elements of
// their bias.
func (n *Network) WeightsLen() int { return n.sum((*Plan).WeightsLen) }

// BiasLen is the number of elements of the bias of all layers.
func (n *Network) BiasLen() int { return n.sum((*Plan).BiasLen) }

func (n *Network) sum(length func(*Plan) int) (total int) {
	for _, p := range n.plans {
		total += length(p)
	}
	return total
}

// SetWeights puts the weights and the bias of all layers, one after the other, on the
// device, as Plan.SetWeights does for one. It reports whether a layer had another version.
// After an error layers may have different versions.
func (n *Network) SetWeights(ctx context.Context, version uint64, weights, bias []float32) (uploaded bool, err error) {
	err = checkAll(length{"weights", len(weights), n.WeightsLen()}, length{"bias", len(bias), n.BiasLen()})
	for _, p := range n.plans {
		if err != nil {
			return uploaded, err
		}
		there, hasErr := p.has(version)
		uploaded = uploaded || !there
		w, b := weights[:p.WeightsLen()], bias[:p.BiasLen()]
		weights, bias = weights[len(w):], bias[len(b):]
		if len(b) == 0 {
			b = nil
		}
		err = errors.Join(hasErr, p.SetWeights(ctx, version, w, b))
	}
	return uploaded, err
}
