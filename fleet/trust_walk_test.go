package fleet_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/shadercache/shadercache/fleet"
)

// walkKeys are the keys of a walk. All of them have leaked.
var walkKeys = []byte{1, 2, 3, 4}

// trustWalk is a fleet whose store belongs to an attacker, and what its machines have seen.
type trustWalk struct {
	*fleetOf
	random *rand.Rand
	admin  *fleet.KeyList // that was written last
	past   []map[string]memoryObject
	lines  [][]byte // of all lists, and none
	nodes  []*trustNode
	steps  []string
}

type trustNode struct {
	*scene
	options         fleet.Options
	list            *fleet.KeyList // the newest that it was shown
	epoch, sequence uint64         // of the head that it accepted last
	accepted        int
}

// TestRandomTrust takes random steps: one machine revokes keys, writers push, whoever has the store
// puts back what was there before, object by object, and signs heads with any key and any list, and
// machines pull. What one accepts is signed by a key of the newest list that it was shown, and no
// list takes a revocation back.
func TestRandomTrust(t *testing.T) {
	t.Parallel()
	walks, seed := 8, uint64(1)
	if os.Getenv("SHADERCACHE_SOAK") != "" {
		walks, seed = 200, rand.Uint64()
	}
	accepted, refused := 0, 0
	for i := range walks {
		t.Logf("walk %d, seed %d", i, seed+uint64(i))
		w := newTrustWalk(t, rand.New(rand.NewPCG(seed+uint64(i), 1)))
		for range 40 {
			ok, asked := w.step()
			if asked && ok {
				accepted++
			} else if asked {
				refused++
			}
			if t.Failed() {
				t.Fatalf("after %q", w.steps)
			}
		}
	}
	t.Logf("%d pulls were accepted, %d refused", accepted, refused)
	if accepted == 0 || refused == 0 {
		t.Error("a walk has both")
	}
}

func newTrustWalk(t *testing.T, random *rand.Rand) *trustWalk {
	w := &trustWalk{fleetOf: &fleetOf{scene: inMemory(t)}, random: random, lines: [][]byte{nil}}
	w.changeKeys(func(l *fleet.KeyList) {
		for _, k := range walkKeys {
			add(k)(l)
		}
	})
	must(t, w.pushNew(1, fleet.PushOptions{}))
	for i := range 3 {
		n := &trustNode{scene: &scene{T: t, victim: openDir(t)}, options: rooted(reader(w.url))}
		if i == 2 { // knows a key from before there were lists
			n.options.Keys = reader(w.url).Keys
		}
		w.nodes = append(w.nodes, n)
	}
	w.keep()
	return w
}

// keep keeps what the store has for later steps.
func (w *trustWalk) keep() {
	w.past = append(w.past, maps.Clone(w.store.objects))
	if line := w.store.objects[fleet.KeysName].data; !slices.ContainsFunc(w.lines, func(l []byte) bool { return bytes.Equal(l, line) }) {
		w.lines = append(w.lines, bytes.Clone(line))
	}
}

func (w *trustWalk) changeKeys(change func(*fleet.KeyList)) {
	list, err := w.changeFrom(w.victim, change)
	if err != nil {
		return
	}
	if w.admin != nil {
		for _, k := range w.admin.Keys {
			if !k.Revoked.IsZero() && list.Find(k.ID()).Revoked.IsZero() {
				w.Errorf("list %d takes back the revocation of %s in list %d", list.Epoch, k.ID(), w.admin.Epoch)
			}
		}
	}
	w.admin = list
}

// step takes a step. It reports whether a machine was asked to pull, and whether it accepted a head.
func (w *trustWalk) step() (ok, asked bool) {
	key := walkKeys[w.random.IntN(len(walkKeys))]
	switch w.random.IntN(7) {
	case 0:
		w.took("revoke %d", key)
		if key != walkKeys[len(walkKeys)-1] || w.random.IntN(4) == 0 {
			w.changeKeys(func(l *fleet.KeyList) {
				if revoke(key)(l); w.random.IntN(2) == 0 {
					l.Since = l.Epoch + 1
				}
			})
			w.keep()
		}
	case 1:
		w.took("push by %d", key)
		_ = w.pushNew(key, fleet.PushOptions{Replace: w.random.IntN(2) == 0})
		w.keep()
	case 2:
		w.took("put back")
		for name, object := range w.past[w.random.IntN(len(w.past))] {
			if w.random.IntN(2) == 0 {
				w.store.objects[name] = object
			}
		}
	case 3:
		w.took("sign with %d", key)
		w.sign(key)
	default:
		i := w.random.IntN(len(w.nodes))
		w.took("pull by %d", i)
		return w.pull(w.nodes[i]), true
	}
	return false, false
}

func (w *trustWalk) took(step string, of ...any) { w.steps = append(w.steps, fmt.Sprintf(step, of...)) }

// sign signs a head of what the store has with a leaked key, and any list that there was.
func (w *trustWalk) sign(key byte) {
	_, rest := fleet.CutKeys(w.store.objects[mesaHead].data)
	h, _ := w.decode(rest)
	line := w.lines[w.random.IntN(len(w.lines))]
	if l := listOf(w.T, line); l != nil {
		h.Epoch = l.Epoch
	}
	h.Sequence = min(h.Sequence+uint64(w.random.IntN(3)), 1<<53-1)
	if w.random.IntN(4) == 0 {
		h.Sequence = 1<<53 - uint64(w.random.IntN(3))
	}
	_, private := keyPair(key)
	w.setHeadObject(append(bytes.Clone(line), fleet.EncodeHead(*h, private)...))
}

// decode returns a head and the key that signed it.
func (w *trustWalk) decode(object []byte) (*fleet.Head, byte) {
	for _, k := range walkKeys {
		public, _ := keyPair(k)
		if h, err := fleet.DecodeHead(object, []ed25519.PublicKey{public}, mesaDriver.Digest()); err == nil {
			return h, k
		}
	}
	w.Fatal("a head that no key has signed")
	return nil, 0
}

// listOf decodes the list of a line.
func listOf(t *testing.T, line []byte) *fleet.KeyList {
	if len(line) == 0 {
		return nil
	}
	l := &fleet.KeyList{}
	data, err := base64.StdEncoding.DecodeString(string(bytes.Fields(line)[4]))
	must(t, errors.Join(err, json.Unmarshal(data, l)))
	return l
}

// pull has a machine pull, and compares what it accepts with what it was shown before.
func (w *trustWalk) pull(n *trustNode) bool {
	line, rest := fleet.CutKeys(w.store.objects[mesaHead].data)
	if list := listOf(w.T, line); n.list == nil || list != nil && list.Epoch > n.list.Epoch {
		n.list = list
	}
	list := n.list
	h, signer := w.decode(rest)
	_, err := open(w, n.victim, n.options).Pull(w.Context(), fleet.PullOptions{Current: &mesaDriver})
	switch refused := errors.Is(err, fleet.ErrRefused); {
	case refused:
	case list == nil && (n.options.Keys == nil || signer != 1):
		w.Errorf("accepted without a list, signed by %d: %v", signer, err)
	case list != nil && h.Epoch < list.Since:
		w.Errorf("accepted a head of list %d, which list %d refuses: %v", h.Epoch, list.Epoch, err)
	case list != nil && !mayStillSign(list, signer):
		w.Errorf("accepted what %d has signed, which list %d does not allow: %v", signer, list.Epoch, err)
	case h.Epoch < n.epoch || h.Epoch == n.epoch && h.Sequence < n.sequence:
		w.Errorf("accepted number %d of list %d after %d of %d: %v", h.Sequence, h.Epoch, n.sequence, n.epoch, err)
	default:
		n.epoch, n.sequence = h.Epoch, h.Sequence
	}
	return !errors.Is(err, fleet.ErrRefused)
}

func mayStillSign(l *fleet.KeyList, key byte) bool {
	public, _ := keyPair(key)
	return slices.ContainsFunc(l.Keys, func(k fleet.ListedKey) bool { return bytes.Equal(k.Key, public) && k.Revoked.IsZero() })
}
