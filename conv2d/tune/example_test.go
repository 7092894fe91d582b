//go:build linux

package tune_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/conv2d/tune"
)

// A plan searches once. Every later plan for the problem on this driver uses the result.
func ExampleOptions_Tune() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "tuned-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	gpu, err := shadercache.Open(shadercache.Options{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	defer gpu.Close()
	layers := []conv2d.Layer{{Shape: conv2d.GEMMProblem{M: 8, N: 8, K: 8}.Shape()}}
	for range 2 {
		plan, err := conv2d.NewPlan(ctx, gpu.Executor, gpu.Cache, layers, conv2d.PlanOptions{
			Tune: &tune.Options{Budget: 1, Progress: func(done, _ int, _ tune.Candidate) {
				if done == 1 {
					fmt.Println("searching")
				}
			}},
		})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(plan.Info().Layers[0].Basis)
		plan.Release()
	}
	// Output:
	// searching
	// tuned
	// tuned
}
