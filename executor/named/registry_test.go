package named

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/shadercache/shadercache/job"
)

// nothing is a named object that takes no bytes.
type nothing struct{}

func (nothing) Bytes() int64 { return 0 }
func (nothing) Free()        {}

// TestNamesAreBounded makes names without end: the idle ones make room, those in use are
// refused beyond the limit.
func TestNamesAreBounded(t *testing.T) {
	r := NewRegistry[nothing]("nothing", 1, time.Hour, nil)
	defer r.Close()
	open := func(i int) (*Object[nothing], error) {
		n, _, err := r.Open(fmt.Sprint(i), false, 0, func() (nothing, error) { return nothing{}, nil })
		return n, err
	}
	idle, err := open(-1)
	if err != nil {
		t.Fatal(err)
	}
	r.Leave(idle)
	for i := range maxNamed {
		if _, err := open(i); err != nil {
			t.Fatal(i, err)
		}
	}
	if _, err := open(maxNamed); err == nil {
		t.Error("one more than the limit was made")
	}
	if n, _ := r.Count(); n != maxNamed {
		t.Errorf("%d names", n)
	}
	r.mu.bytes, r.mu.byName["being made"] = 5, &Object[nothing]{users: 1}
	if err := r.Take(-5); err != nil || r.mu.bytes != 0 {
		t.Errorf("%d bytes, %v", r.mu.bytes, err)
	}
	delete(r.mu.byName, "being made")
}

// sized is a named object of some bytes.
type sized int64

func (s sized) Bytes() int64 { return int64(s) }
func (sized) Free()          {}

// TestWhatDoesNotFitDeletesNothing asks for more room than all idle objects leave, and then for as
// much: of those the least recently used go.
func TestWhatDoesNotFitDeletesNothing(t *testing.T) {
	r := NewRegistry[sized]("bytes", 10, time.Hour, nil)
	defer r.Close()
	open := func(name string, size int64) (*Object[sized], error) {
		n, _, err := r.Open(name, false, size, func() (sized, error) { return sized(size), nil })
		return n, err
	}
	for _, name := range []string{"used", "first", "second"} {
		n, err := open(name, 3)
		if err != nil {
			t.Fatal(err)
		}
		if name != "used" {
			r.Leave(n)
		}
	}
	for _, step := range []struct {
		size  int64
		fits  bool
		names int // afterwards
	}{{11, false, 3}, {8, false, 3}, {math.MaxInt64, false, 3}, {1, true, 4}, {3, true, 4}, {6, false, 4}} {
		_, err := open(fmt.Sprint("new ", step.size), step.size)
		if n, _ := r.Count(); (err == nil) != step.fits || n != step.names {
			t.Errorf("%d bytes more: %v, %d names", step.size, err, n)
		}
	}
}

// elsewhere are names that another process has.
type elsewhere struct{}

func (elsewhere) Claim(string) (int, error) { return 1, nil }
func (elsewhere) Find(string) (int, error)  { return 1, nil }
func (elsewhere) Drop(string)               {}

// TestANameOfAnotherProcessDeletesNothing: what is idle does not make room for what is not made.
func TestANameOfAnotherProcessDeletesNothing(t *testing.T) {
	r := NewRegistry[sized]("bytes", 10, time.Hour, nil)
	defer r.Close()
	create := func() (sized, error) { return 8, nil }
	idle, _, err := r.Open("here", false, 8, create)
	if err != nil {
		t.Fatal(err)
	}
	r.Leave(idle)
	r.names = elsewhere{}
	if _, _, err := r.Open("there", false, 8, create); !errors.Is(err, job.ErrOtherDevice) {
		t.Error(err)
	}
	if n, bytes := r.Count(); n != 1 || bytes != 8 {
		t.Errorf("%d names of %d bytes", n, bytes)
	}
}

// claims are the names of one process, where Claim waits.
type claims struct {
	owned          map[string]bool
	asked, granted chan struct{}
}

func (c *claims) Claim(name string) (int, error) {
	c.asked <- struct{}{}
	<-c.granted
	c.owned[name] = true
	return -1, nil
}
func (c *claims) Find(string) (int, error) { return -1, nil }
func (c *claims) Drop(name string)         { delete(c.owned, name) }

// TestANameThatIsDeletedWhileItIsMade: no process has it afterwards.
func TestANameThatIsDeletedWhileItIsMade(t *testing.T) {
	c := &claims{map[string]bool{}, make(chan struct{}), make(chan struct{})}
	r := NewRegistry[nothing]("nothing", 1, time.Hour, c)
	defer r.Close()
	made := make(chan *Object[nothing])
	go func() {
		n, _, err := r.Open("name", false, 0, func() (nothing, error) { return nothing{}, nil })
		if err != nil {
			t.Error(err)
		}
		made <- n
	}()
	<-c.asked
	if err := r.Delete("name"); err != nil {
		t.Error(err)
	}
	c.granted <- struct{}{}
	r.Leave(<-made)
	if len(c.owned) > 0 {
		t.Errorf("%v is still a name of this process", c.owned)
	}
}

// TestOneThatFailsIsNotTheErrorOfOthers: who waited for it makes its own, or finds none.
func TestOneThatFailsIsNotTheErrorOfOthers(t *testing.T) {
	r := NewRegistry[nothing]("nothing", 1, time.Hour, nil)
	defer r.Close()
	begun, fail, first := make(chan struct{}), make(chan struct{}), make(chan error)
	mine := errors.New("of the first alone")
	go func() {
		_, _, err := r.Open("name", false, 1, func() (nothing, error) { close(begun); <-fail; return nothing{}, mine })
		first <- err
	}()
	<-begun
	type result struct {
		created bool
		err     error
	}
	others := make(chan result)
	for _, create := range []func() (nothing, error){nil, func() (nothing, error) { return nothing{}, nil }} {
		go func() {
			n, created, err := r.Open("name", false, 0, create)
			if err == nil {
				r.Leave(n)
			}
			others <- result{created, err}
		}()
	}
	for r.users("name") < 3 {
		runtime.Gosched()
	}
	close(fail)
	if err := <-first; err != mine {
		t.Errorf("the first: %v", err)
	}
	made := 0
	for range 2 {
		o := <-others
		if o.created {
			made++
		} else if o.err != nil && !errors.Is(o.err, job.ErrNotFound) {
			t.Errorf("another: %v", o.err)
		}
	}
	if made != 1 {
		t.Errorf("%d were made", made)
	}
}

func (r *Registry[T]) users(name string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.byName[name].users
}
