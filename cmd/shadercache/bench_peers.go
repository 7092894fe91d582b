package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/shadercache/shadercache/internal/cli"
	"github.com/shadercache/shadercache/shader"
)

// peerTime is what another library takes for a shape.
type peerTime struct {
	Peer   string  `json:"peer"`
	Millis float64 `json:"ms"`
	Least  float64 `json:"least_ms"` // 0 where the peer does not say
	Most   float64 `json:"most_ms"`
}

// readPeers reads a peer's times by shape; no file gives none.
func readPeers(file string) (map[string]peerTime, error) {
	if file == "" {
		return nil, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, cli.Hint(err, "write one with: python3 docs/bench/peers.py SHAPE... > peers.json")
	}
	return decodePeers(data)
}

func decodePeers(data []byte) (map[string]peerTime, error) {
	peers := map[string]peerTime{}
	if err := json.Unmarshal(data, &peers); err != nil {
		return nil, fmt.Errorf("a peer's times are {SHAPE: {\"peer\": NAME, \"ms\": MILLISECONDS}}: %w", err)
	}
	return peers, nil
}

// measurePeers runs a program that measures, with the shapes as its arguments. Its
// messages go where ours go.
func measurePeers(ctx context.Context, o *options, command string, shapes []string) (map[string]peerTime, error) {
	words := strings.Fields(command)
	if len(words) == 0 {
		return nil, errors.New("--peer-command is empty")
	}
	var out bytes.Buffer
	peer := exec.CommandContext(ctx, words[0], append(words[1:], shapes...)...)
	peer.Stdout, peer.Stderr = &out, o.Stderr
	peer.WaitDelay = time.Second // for what it started itself and left behind
	if err := peer.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, cli.Hint(fmt.Errorf("the peer %q: %w", command, err), "run it alone, with one shape")
	}
	return decodePeers(out.Bytes())
}

// fatal passes on the errors after which no other row makes sense.
func fatal(err error) error {
	if errors.Is(err, shader.ErrContextLost) || errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
