package cli

import (
	"context"
	"errors"

	"github.com/shadercache/shadercache/shader"
)

// ShapeHelp describes what conv2d.ParseShapes reads.
const ShapeHelp = `A SHAPE is one word:
  conv2d:NxCxHxW-K,RxS[,sSTRIDE][,pPAD][,dDILATION][,gGROUPS][,bias]
         [,ACTIVATION]
  gemm:MxNxK[,ta][,tb][,ldaN][,ldbN][,ldcN][,batchN:A:B:C][,alphaX][,betaX]
       [,row-bias|,column-bias][,ACTIVATION]
STRIDE, PAD and DILATION are one number, or two as in s2x1 for rows and columns.
ACTIVATION is relu, tanh, silu or sigmoid. The numbers of a batch are its size
and the elements from one matrix to the next.

The name of a workload stands for its shapes: resnet and seed (convolutions),
square, odd, skinny and epilogue (matrix products).`

// Fatal returns err if no other problem can be measured after it, and nil otherwise.
func Fatal(err error) error {
	if errors.Is(err, shader.ErrContextLost) || errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
