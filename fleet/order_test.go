package fleet_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/shader"
)

// actor is a process with a store in memory. Each of its requests waits for its turn.
type actor struct {
	*memory
	process context.Context // ends when it is killed
	kill    context.CancelFunc
	waiting chan func() // requests
	made    int         // requests
	done    bool
	err     error
}

// turn does a request when it is its turn. A process that was killed meanwhile sees no answer, and
// the store does the request all the same.
func turn[T any](a *actor, do func() (T, error)) (T, error) {
	var value T
	var err error
	did := make(chan bool)
	a.waiting <- func() { value, err = do(); close(did) }
	select {
	case <-did:
		return value, err
	case <-a.process.Done():
		return *new(T), context.Canceled
	}
}

func (a *actor) Get(_ context.Context, name string, first int64) (*fleet.Object, error) {
	return turn(a, func() (*fleet.Object, error) { return a.memory.Get(context.Background(), name, first) })
}

func (a *actor) Put(_ context.Context, name string, data io.ReadSeeker, o fleet.PutOptions) (string, error) {
	content, err := io.ReadAll(data)
	if err != nil {
		return "", err
	}
	return turn(a, func() (string, error) { return a.memory.Put(context.Background(), name, bytes.NewReader(content), o) })
}

func (a *actor) List(_ context.Context, folder string) ([]fleet.Info, error) {
	return turn(a, func() ([]fleet.Info, error) { return a.memory.List(context.Background(), folder) })
}

// task is what an actor does.
type task struct {
	name    string
	key     byte // that signs, is added or is revoked
	program int  // that is pushed; 0: none
	do      func(context.Context, *fleet.Remote) error
}

func pushing(key byte, program int) task {
	return task{"push", key, program, func(ctx context.Context, r *fleet.Remote) error {
		_, err := r.Push(ctx, fleet.PushOptions{})
		return err
	}}
}

func changing(name string, key byte, change func(byte) func(*fleet.KeyList)) task {
	return task{name, key, 0, func(ctx context.Context, r *fleet.Remote) error {
		_, root := rootPair()
		_, err := r.ChangeKeys(ctx, root, func(l *fleet.KeyList) error { change(key)(l); return nil })
		return err
	}}
}

// order is one in which two tasks run from the same start.
type order struct {
	*testing.T
	start    map[string]memoryObject
	swaps    bool
	untagged bool // reads have no tags, as some servers give none for what has just changed
	tasks    []task
	programs []int // that are pushed
	killed   int   // the actor that is killed; -1: none
	at       int   // when it has made so many requests
	switches []step

	store  *memory
	actors []*actor
	late   func() // the last request of the actor that was killed
	steps  []step
	asked  []string
}

// step is the request n: of whom, of whom it could have been, and of whom the one before was.
type step struct {
	n, of, before int
	could         []int
}

// run does the requests of one actor until it ends, and then those of the next one, but for the
// switches; and checks what is there then.
func (o order) run() order {
	synctest.Test(o.T, func(t *testing.T) {
		o.T, o.store = t, &memory{objects: maps.Clone(o.start), abilities: fleet.Abilities{CompareAndSwap: o.swaps, List: true}, number: 1000}
		if o.untagged {
			o.store.get = func(_ context.Context, _ string, object *fleet.Object) (*fleet.Object, error) {
				if object != nil {
					object.Tag = ""
				}
				return object, nil
			}
		}
		if o.start[mesaHead].tag != "" {
			o.programs = []int{1}
		}
		for _, task := range o.tasks {
			o.begin(task)
		}
		before := -1
		for could := o.settle(); len(could) > 0; could = o.settle() {
			s := step{len(o.steps), could[0], before, could}
			if slices.Contains(could, before) {
				s.of = before
			}
			for _, other := range o.switches {
				if other.n == s.n && slices.Contains(could, other.of) {
					s.of = other.of
				}
			}
			o.do(s.of)
			o.steps = append(o.steps, s)
			before = s.of
		}
		o.check()
	})
	return o
}

func (o *order) begin(task task) {
	a := &actor{memory: o.store, waiting: make(chan func(), 16)}
	a.process, a.kill = context.WithCancel(context.Background())
	name, dir := fmt.Sprint("actor-", len(o.actors)), openDir(o)
	if task.program != 0 {
		put(o, dir, mesaDriver, task.program)
	}
	memories.Store(name, a)
	options := rooted(writer("memory://" + name + "/"))
	_, options.SignKey = keyPair(task.key)
	r := open(o, dir, options)
	o.actors = append(o.actors, a)
	go func() {
		a.err = task.do(a.process, r)
		a.done = true
	}()
}

// settle waits until each actor has a request, or has ended, and returns those with a request.
func (o *order) settle() (could []int) {
	wait := func(a *actor) bool { return !a.done && len(a.waiting) == 0 }
	for synctest.Wait(); slices.ContainsFunc(o.actors, wait); synctest.Wait() {
		time.Sleep(time.Millisecond) // it pauses
	}
	for n, a := range o.actors {
		if len(a.waiting) > 0 && a.process.Err() == nil {
			could = append(could, n)
		}
	}
	if o.late != nil {
		could = append(could, len(o.actors))
	}
	return could
}

// do does a request of an actor, or the late one.
func (o *order) do(of int) {
	request, name := o.late, "late"
	if of < len(o.actors) {
		a := o.actors[of]
		request, name = <-a.waiting, o.tasks[of].name
		if a.made++; of == o.killed && a.made == o.at {
			o.late, request = request, a.kill
		}
	} else {
		o.late = nil
	}
	request()
	o.asked = append(o.asked, fmt.Sprint(name, o.store.requests()))
}

// check pulls as a new machine: what tasks that returned nil have done is there.
func (o *order) check() {
	defer func() {
		if o.Failed() {
			o.Fatalf("compare-and-swap %v, %v and %v:\n%s", o.swaps, o.actors[0].err, o.actors[1].err, strings.Join(o.asked, "\n"))
		}
	}()
	memories.Store("reader", o.store)
	dir := openDir(o)
	r := open(o, dir, rooted(reader("memory://reader/")))
	list, err := r.Keys(o.Context())
	must(o, err)
	_, err = r.Pull(o.Context(), fleet.PullOptions{Current: &mesaDriver})
	status := r.Status(o.Context(), &mesaDriver)
	signer := status.Signer
	if accepted := signer != ""; status.Signed != accepted || accepted == (status.Digest == shader.Digest{}) {
		o.Errorf("status: %+v", status)
	}
	revoking := false
	for n, task := range o.tasks {
		public, _ := keyPair(task.key)
		listed, done := list.Find(fleet.KeyID(public)), o.actors[n].err == nil
		revoking = revoking || task.name == "revoke"
		switch {
		case done && task.name == "add" && listed == nil:
			o.Errorf("the key that was added is not in the list")
		case done && task.name == "revoke" && (listed.Revoked.IsZero() || signer == fleet.KeyID(public)):
			o.Errorf("the key that was revoked signs %q, and is in the list: %+v", signer, listed)
		case done && task.program != 0:
			o.programs = append(o.programs, task.program)
		}
	}
	if signer == "" { // none is accepted
		if !revoking && len(o.programs) > 0 {
			o.Errorf("pull: %v", err)
		}
		return
	}
	store, err := dir.Store(mesaDriver)
	must(o, err)
	for _, n := range o.programs { // one that was killed may have pushed, too
		if _, err := store.Get(testSource(n).Key()); err != nil {
			o.Errorf("program %d: %v", n, err)
		}
	}
	must(o, store.Close())
}

// explore runs all orders with so many switches away from an actor that could go on, from a step
// on. It returns how many requests each of the actors made in the first one.
func (o order) explore(switches, from int) (made []int) {
	first := o.run()
	for _, a := range first.actors {
		made = append(made, a.made)
	}
	for _, s := range first.steps[from:] {
		left := switches
		if slices.Contains(s.could, s.before) {
			left--
		}
		for _, s.of = range s.could {
			if other := o; left >= 0 && s.of != first.steps[s.n].of {
				other.switches = append(slices.Clone(o.switches), s)
				other.explore(left, s.n+1)
			}
		}
	}
	return made
}

// Two processes that push and change keys, in all orders with one switch, lose nothing of each
// other. With SHADERCACHE_SOAK=1 there are two switches, and each process is killed at each of
// its requests, which is done late.
func TestOrders(t *testing.T) {
	t.Parallel()
	f := newFleet(inMemory(t))
	f.change(add(2))
	head := f.store.objects
	lost, first := maps.Clone(head), map[string]memoryObject{fleet.KeysName: head[fleet.KeysName]}
	delete(lost, fleet.KeysName)
	push, other := pushing(1, 5), pushing(2, 6)
	added, revoked := changing("add", 3, add), changing("revoke", 1, revoke)
	switches, soak := 1, os.Getenv("SHADERCACHE_SOAK") != ""
	if soak {
		switches = 2
	}
	for _, o := range []order{
		{start: head, swaps: true, tasks: []task{push, other}},
		{start: head, swaps: true, tasks: []task{push, added}},
		{start: head, swaps: true, tasks: []task{push, revoked}},
		{start: head, swaps: true, tasks: []task{added, revoked}},
		{start: lost, swaps: true, tasks: []task{added, revoked}},
		{start: first, swaps: true, tasks: []task{push, other}},
		{start: first, swaps: true, tasks: []task{push, revoked}},
		{start: head, swaps: false, tasks: []task{push, revoked}},
		{start: head, swaps: true, untagged: true, tasks: []task{push, revoked}},
	} {
		o.T, o.killed = t, -1
		made := o.explore(switches, 0)
		for o.killed = range made {
			// A first head is written, and so is all without compare-and-swap, whatever came before.
			for o.at = 1; soak && o.swaps && !o.untagged && o.start[mesaHead].tag != "" && o.at <= made[o.killed]; o.at++ {
				o.explore(1, 0)
			}
		}
	}
}
