// Package peers holds the times that other libraries take for shapes of package conv2d,
// and the programs that measure them:
//
//	peers.py      cuBLAS and cuDNN through PyTorch
//	gonumpeer     gonum's blas32 on the CPU
//	roundtrip.cu  a word to a running CUDA kernel and back, the peer of bench resident
package peers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/shadercache/shadercache/cmd/cli"
)

// Time is what another library takes for a shape, in milliseconds.
type Time struct {
	Peer   string  `json:"peer"`
	Millis float64 `json:"ms"`
	Least  float64 `json:"least_ms"` // 0 where the peer does not report it
	Most   float64 `json:"most_ms"`
}

// Times are those of a peer by shape, the JSON that a peer prints.
type Times map[string]Time

// Read reads the times of a file. An empty name gives none.
func Read(file string) (Times, error) {
	if file == "" {
		return nil, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, cli.Hint(err, "write one with: python3 lab/bench/peers/peers.py SHAPE... > peers.json")
	}
	return decode(data)
}

func decode(data []byte) (Times, error) {
	times := Times{}
	if err := json.Unmarshal(data, &times); err != nil {
		return nil, fmt.Errorf("a peer's times are {SHAPE: {\"peer\": NAME, \"ms\": MILLISECONDS}}: %w", err)
	}
	return times, nil
}

// Measure runs a program that measures, with the shapes as its arguments and its
// messages on stderr, and returns the times that it prints.
func Measure(ctx context.Context, command string, shapes []string, stderr io.Writer) (Times, error) {
	words := strings.Fields(command)
	if len(words) == 0 {
		return nil, errors.New("--peer-command is empty")
	}
	var out bytes.Buffer
	peer := exec.CommandContext(ctx, words[0], append(words[1:], shapes...)...)
	peer.Stdout, peer.Stderr = &out, stderr
	peer.WaitDelay = time.Second // for processes that the program started and left
	if err := peer.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, cli.Hint(fmt.Errorf("the peer %q: %w", command, err), "run it alone, with one shape")
	}
	return decode(out.Bytes())
}
