package fleet_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/shader"
)

// memory is a store in memory, in which a test changes what readers get. Its URLs are
// memory://user:password@<name>/.
type memory struct {
	mu        sync.Mutex
	objects   map[string]memoryObject
	abilities fleet.Abilities
	number    int
	asked     []string // GET and PUT with the names
	wholeOnly bool     // it sends whole objects only
	clocked   bool     // it tells its time

	get func(ctx context.Context, name string, o *fleet.Object) (*fleet.Object, error) // may be nil
	put func(name string) error                                                        // before a Put; may be nil
	did func(name string) error                                                        // after a Put; may be nil

	asking func(request string) // before each request; may be nil
}

type memoryObject struct {
	data    []byte
	tag     string
	changed time.Time
}

var memories sync.Map

func init() {
	fleet.Register("memory", func(u *url.URL, _ fleet.BackendOptions) (fleet.Backend, error) {
		m, ok := memories.Load(u.Host)
		if !ok {
			return nil, fmt.Errorf("there is no %s", u)
		}
		return m.(fleet.Backend), nil
	})
}

// newMemory returns a store and its URL, which has credentials.
func newMemory(t testing.TB) (*memory, string) {
	t.Helper()
	m := &memory{
		objects:   map[string]memoryObject{},
		abilities: fleet.Abilities{CompareAndSwap: true, List: true, Delete: true},
	}
	name := strings.ToLower(strings.NewReplacer("/", "-", "_", "-", "#", "-", ",", "-", "'", "-").Replace(t.Name()))
	memories.Store(name, m)
	t.Cleanup(func() { memories.Delete(name) })
	return m, "memory://robot:" + password + "@" + name + "/?signature=" + password
}

const password = "s3cr3t-p4ssw0rd"

// failHeads makes each read of these drivers' heads fail, or hang until its time is over.
func (m *memory) failHeads(failure error, drivers ...shader.Digest) {
	m.get = func(ctx context.Context, name string, o *fleet.Object) (*fleet.Object, error) {
		if !slices.ContainsFunc(drivers, func(d shader.Digest) bool { return name == fleet.HeadName(d) }) {
			return o, nil
		}
		if failure == nil {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return nil, failure
	}
}

// failPacks makes each read of these packs fail.
func (m *memory) failPacks(failure error, packs ...fleet.Pack) {
	m.get = func(_ context.Context, name string, o *fleet.Object) (*fleet.Object, error) {
		if slices.ContainsFunc(packs, func(p fleet.Pack) bool { return strings.Contains(name, p.SHA256.String()) }) {
			return nil, failure
		}
		return o, nil
	}
}

func (m *memory) Abilities(context.Context) (fleet.Abilities, error) { return m.abilities, nil }
func (m *memory) Connect(context.Context) error                      { return nil }
func (m *memory) Close() error                                       { return nil }

func (m *memory) Get(ctx context.Context, name string, first int64) (*fleet.Object, error) {
	if m.wholeOnly && first > 0 {
		return nil, fmt.Errorf("%w: no ranges", errors.ErrUnsupported)
	}
	request := "GET " + name
	if first > 0 {
		request += fmt.Sprintf(" from %d", first)
	}
	m.ask(request)
	m.mu.Lock()
	o, ok := m.objects[name]
	m.asked = append(m.asked, request)
	get := m.get
	m.mu.Unlock()
	var object *fleet.Object
	if ok {
		body := io.NopCloser(bytes.NewReader(o.data[min(first, int64(len(o.data))):]))
		object = &fleet.Object{Body: body, Size: int64(len(o.data)), Tag: o.tag}
		if m.clocked {
			object.Clock = time.Now()
		}
	}
	if get != nil {
		changed, err := get(ctx, name, object)
		if err != nil || changed != nil {
			return changed, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("%w: %s", fleet.ErrNotFound, name)
	}
	return object, nil
}

func (m *memory) Put(ctx context.Context, name string, data io.ReadSeeker, o fleet.PutOptions) (string, error) {
	m.ask("PUT " + name)
	if m.put != nil {
		if err := m.put(name); err != nil {
			return "", err
		}
	}
	content, err := io.ReadAll(data)
	if err := errors.Join(err, ctx.Err()); err != nil {
		return "", err
	}
	if int64(len(content)) != o.Size {
		return "", fmt.Errorf("%d bytes, and %d were announced", len(content), o.Size)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, "PUT "+name)
	old, exists := m.objects[name]
	if m.abilities.CompareAndSwap && (o.IfAbsent && exists || o.IfTag != "" && old.tag != o.IfTag) {
		return "", fmt.Errorf("%w: %s", fleet.ErrChanged, name)
	}
	m.number++
	tag := fmt.Sprint("tag", m.number)
	m.objects[name] = memoryObject{content, tag, time.Now()}
	if m.did != nil {
		return tag, m.did(name)
	}
	return tag, nil
}

// ask calls asking.
func (m *memory) ask(request string) {
	m.mu.Lock()
	asking := m.asking
	m.mu.Unlock()
	if asking != nil {
		asking(request)
	}
}

func (m *memory) setAsking(asking func(request string)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asking = asking
}

func (m *memory) Delete(_ context.Context, name string) error {
	m.ask("DELETE " + name)
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.objects, name)
	return nil
}

func (m *memory) List(_ context.Context, folder string) (list []fleet.Info, err error) {
	m.ask("LIST " + folder)
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, o := range m.objects {
		if strings.HasPrefix(name, folder) {
			list = append(list, fleet.Info{Name: name, Size: int64(len(o.data)), Changed: o.changed})
		}
	}
	return list, nil
}

// change replaces the objects whose names end in a suffix.
func (m *memory) change(suffix string, change func([]byte) []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, o := range m.objects {
		if strings.HasSuffix(name, suffix) || suffix == "/packs/" && strings.Contains(name, suffix) {
			o.data = change(bytes.Clone(o.data))
			m.objects[name] = o
		}
	}
}

func (m *memory) tamper(name string, change func([]byte) []byte) { m.change(name, change) }

func (m *memory) lose(name string) { _ = m.Delete(context.Background(), name) }

func (m *memory) withoutSizes(url string, _ int64) string {
	m.get = func(_ context.Context, _ string, o *fleet.Object) (*fleet.Object, error) {
		if o != nil {
			o.Size = -1
		}
		return o, nil
	}
	return url
}

// copyObjects returns the content of all objects.
func (m *memory) copyObjects() map[string][]byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := map[string][]byte{}
	for name, o := range m.objects {
		c[name] = bytes.Clone(o.data)
	}
	return c
}

// set replaces all objects.
func (m *memory) set(objects map[string][]byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.objects = map[string]memoryObject{}
	for name, data := range objects {
		m.number++
		m.objects[name] = memoryObject{data, fmt.Sprint("tag", m.number), time.Now()}
	}
}

// requests returns the requests since the last call.
func (m *memory) requests() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.asked
	m.asked = nil
	return list
}
