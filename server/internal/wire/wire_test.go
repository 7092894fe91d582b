package wire

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/job/texel"
	"github.com/shadercache/shadercache/shader"
)

// samples has one message of each kind, with every field set, and its name.
func samples() map[string]Message {
	inline := Operand{Place: PlaceInline, Size: 4, Data: []byte{1, 2, 3, 4}}
	shared := Operand{Place: PlaceMemory, ID: 7, Offset: 64, Size: 4096}
	buffer := Operand{Place: PlaceBuffer, ID: 9, Offset: 256, Size: 0}
	return map[string]Message{
		"hello":                    &Hello{Oldest: 1, Newest: Version, Client: []byte("test")},
		"hello for a device":       &Hello{Oldest: 1, Newest: Version, Client: []byte("test"), Device: []byte("1"), Near: []byte("state")},
		"hello of a later version": &Hello{Oldest: Version + 1, Newest: 9, Client: []byte("test"), Other: []byte{1, 2, 3}},
		"welcome": &Welcome{
			Number: 1, Devices: 2, UUID: []byte("4d4929459f0adf5948c77a1e106e4b42"), Version: 1, Session: 2, Generation: 3, Server: []byte("v1"), Device: []byte("llvmpipe"), Label: []byte("Mesa"),
			Fingerprint: [32]byte{1, 31: 2}, Limits: Limits{1, 2, 3, 4, 5, 6, 7}, Ended: []byte("killed"),
			Jobs: job.Limits{MaxGroups: [3]int32{1, 2, 3}, MaxStorage: 4, MaxUniform: 5, MaxCounters: 6, StorageAlignment: 7, UniformAlignment: 8, MaxVariableSize: [3]int32{9, 10, 11}, MaxVariableInvocations: 12},
		},
		"error": &Error{CodeQuota, "too much", "release some"},
		"program": &Program{
			ID: 1, Form: FormFinal, Name: []byte("add"), Text: []byte("void main() {}"),
			Defines: []Define{{[]byte("A"), []byte("1")}, {[]byte("B"), []byte{}}},
		},
		"program reply": &ProgramReply{
			Key: [32]byte{9}, Origin: 2, Interface: shader.Interface{WorkGroup: [3]uint32{64, 1, 1}, Resources: []shader.Resource{
				{Kind: shader.StorageBuffer, Name: "Values", Binding: 3, Bytes: 20, Declared: 17, Stride: 4, Offset: 16},
				{Kind: shader.Uniform, Name: "to[0]", Binding: -1, Bytes: 2, Type: 0x904D, Unit: 5, Format: "rgba8"},
			}},
		},
		"memory":         &Memory{3, 1 << 20},
		"release":        &Release{KindBuffer, 4},
		"delete":         &Delete{KindPlan, []byte("resnet")},
		"cancel":         &Cancel{77},
		"buffer":         &Buffer{5, Create | Fresh, 4096, []byte("weights")},
		"buffer reply":   &BufferReply{4096, 7, true},
		"copy":           &Copy{Deadline: 1e9, From: inline, To: buffer, Version: 4, Expect: 3, Check: true},
		"copy reply":     &CopyReply{4, []byte("data")},
		"copy to texels": &Copy{From: shared, To: Operand{Place: PlaceTexture, ID: 3}, Region: texel.Region{Level: 1, X: 2, Y: 3, Z: 4, Width: 5, Height: 6, Depth: 7}},
		"copy of texels": &Copy{From: Operand{Place: PlaceTexture, ID: 3}, To: Operand{Place: PlaceInline, Size: 64}, Region: texel.Region{Z: -1}},
		"texture":        &Texture{4, texel.Shape{Dim: "3D", Format: "rgba8", Width: -1, Height: 2, Depth: 1 << 40, Levels: 4}},
		"texture reply":  &TextureReply{true},
		"job":            sampleJob([]byte{1, 2, 3, 4}, shared, buffer),
		"job with all":   fullJob(shared),
		"data":           &Data{[]byte("data")},
		"plan":           &Plan{6, Create, []byte("lenet"), []byte("gemm:4x4x4")},
		"plan reply":     &PlanReply{true, true, 7, 16, 16, 4, 16, []byte("direct"), []byte("conv2d\tdisk")},
		"weights":        &Weights{6, 7, 1e9, shared, Operand{}},
		"weights reply":  &WeightsReply{true},
		"run":            &Run{6, 1e9, inline, Operand{Place: PlaceInline, Size: 64}},
		"ring":           &Ring{65536},
		"empty":          &Empty{},
	}
}

func sampleJob(data []byte, shared, buffer Operand) *Job {
	return &Job{
		Deadline: 1e9,
		In: []Binding{
			{Binding: 0, Operand: Operand{Place: PlaceInline, Size: uint64(len(data)), Data: data}},
			{Binding: 1, Operand: shared},
		},
		Out: []Binding{{Binding: 2, Operand: Operand{Place: PlaceInline, Size: 4096}}},
		Job: job.Job{
			Dispatch: job.Dispatch{
				Program: numbered{id: 1}, Groups: [3]uint32{16, 1, 1}, ParamsBinding: 3, Params: []byte{5, 6},
				Uniforms: []job.Uniform{job.Uint("n", 1024), job.Float("scale", 2), job.Int("bias", -1)},
				Buffers:  []job.Bound{{Binding: 4, ReadOnly: true, Buffer: numbered{id: buffer.ID}, Offset: int(buffer.Offset), Size: int(buffer.Size)}},
			},
			Then: []job.Dispatch{{Program: numbered{id: 2}, Groups: [3]uint32{1, 2, 3}}},
		},
		Objects: numbers{}, names: map[string]string{"n": "n", "scale": "scale", "bias": "bias"},
	}
}

// fullJob has all that few jobs have.
func fullJob(shared Operand) *Job {
	texture := numberedTexture{id: 3}
	region := texel.Region{Level: 1, X: 2, Width: 4, Height: 1, Depth: 1}
	return &Job{
		TexelsIn:  []Operand{{Place: PlaceInline, Size: 4, Data: []byte{1, 2, 3, 4}}, shared},
		TexelsOut: []Operand{{Place: PlaceBuffer, ID: 9, Offset: 8}, {Place: PlaceInline, Size: 16}},
		Job: job.Job{
			Dispatch: job.Dispatch{
				Program: numbered{id: 1}, GroupSize: [3]uint32{4, 5, 6}, Indirect: &job.Indirect{Buffer: numbered{id: 9}, Offset: 12},
				Blocks: []job.Block{{Binding: 1, Data: []byte{7, 8}}, {Binding: 2, Buffer: numbered{id: 9}, Offset: 256, Size: 16}},
				Images: []job.Image{
					{Name: "picture", Binding: 1, Texture: texture, Level: 2, Layer: 3, Access: "writeonly", Format: "r32ui"},
					{Texture: texture, Level: -1, Layer: -2},
				},
				Textures: []job.Sampled{{Name: "from[1]", Binding: 4, Texture: texture, Sampler: texel.Sampler{
					Min: "linear", Mag: "linear", Mip: "none", Wrap: [3]string{"repeat", "mirror", "border"}, Compare: "always",
				}}},
				Uniforms: []job.Uniform{
					job.Uniform{Name: "turn"}.Of("float", make([]byte, 36)), job.Uniform{Name: "d"}.Of("double", make([]byte, 8)),
					job.Uniform{Name: "i"}.Of("int", make([]byte, 8)), job.Uniform{Name: "u"}.Of("uint", make([]byte, 12)),
				},
				Buffers: []job.Bound{{Binding: 4, Zero: true, Buffer: numbered{id: 9}}},
			},
			TextureInputs:  []job.TextureInput{{Texture: texture, Region: region}, {Texture: texture}},
			TextureOutputs: []job.TextureOutput{{Texture: texture, Region: region, Buffer: numbered{id: 9}, Offset: 8}, {Texture: texture}},
			Counters: []job.Counter{
				{Binding: 1, Start: []uint32{1, 2}, To: make([]uint32, 3)}, {Binding: 2, Buffer: numbered{id: 9}, Offset: 16}, {Binding: 3},
			},
		},
		Objects: numbers{}, names: map[string]string{"picture": "picture", "": "", "from[1]": "from[1]", "turn": "turn", "d": "d", "i": "i", "u": "u"},
	}
}

// numbered is a program or a buffer by its id, and numbers has each.
type (
	numbered struct {
		job.Program
		job.Bindable
		id uint32
	}
	numbers struct{}
)

func (n numbered) ID() uint32 { return n.id }

func (numbers) Program(id uint32) (job.Program, error) { return numbered{id: id}, nil }

func (numbers) Buffer(id uint32) (job.Bindable, error) { return numbered{id: id}, nil }

func (numbers) Texture(id uint32) (job.Texture, error) { return numberedTexture{id: id}, nil }

// numberedTexture is a texture by its id.
type numberedTexture struct {
	job.Texture
	id uint32
}

func (n numberedTexture) ID() uint32 { return n.id }

// blank returns an empty message of the type of m.
func blank(m Message) Message {
	if _, isJob := m.(*Job); isJob {
		return &Job{Objects: numbers{}}
	}
	return reflect.New(reflect.TypeOf(m).Elem()).Interface().(Message)
}

func TestMessagesSurviveTheWire(t *testing.T) {
	for name, want := range samples() {
		got := blank(want)
		if err := Decode(Append(nil, want), got); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
}

func TestEveryShorterAndLongerBodyIsMalformed(t *testing.T) {
	for name, m := range samples() {
		body := Append(nil, m)
		for n := range len(body) {
			shorter := blank(m)
			err := Decode(body[:n], shorter)
			if strings.HasPrefix(name, "hello ") && err == nil && bytes.Equal(Append(nil, shorter), body[:n]) {
				continue // the hello that asks for none
			}
			if !errors.Is(err, ErrMalformed) {
				t.Errorf("%s: the first %d of %d bytes decode: %v", name, n, len(body), err)
			}
		}
		if err := Decode(append(body, 0), blank(m)); !errors.Is(err, ErrMalformed) && name != "hello of a later version" {
			t.Errorf("%s: one byte more decodes: %v", name, err)
		}
	}
}

// TestAHelloThatAsksForNothing ends with the client's name.
func TestAHelloThatAsksForNothing(t *testing.T) {
	body := Append(nil, &Hello{Oldest: Version, Newest: Version, Client: []byte("test")})
	if err := Decode(append(body, 0, 0, 0, 0), new(Hello)); !errors.Is(err, ErrMalformed) {
		t.Error(err)
	}
}

func TestHeaders(t *testing.T) {
	frame, err := AppendFrame([]byte("before"), TypeCancel, 42, &Cancel{7})
	if err != nil {
		t.Fatal(err)
	}
	h, err := ParseHeader(frame[len("before"):])
	if want := (Header{8, TypeCancel, 42}); err != nil || h != want {
		t.Errorf("got %+v, %v, want %+v", h, err, want)
	}
	for name, bad := range map[string][]byte{
		"short":           make([]byte, HeaderSize-1),
		"huge":            {0xFF, 0xFF, 0xFF, 0xFF, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0},
		"a byte too many": {1, 0, 16, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0},
		"flags":           {0, 0, 0, 0, 1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0},
	} {
		if _, err := ParseHeader(bad); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if h, err := ParseHeader([]byte{0, 0, 16, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}); err != nil || h.Size != MaxBody {
		t.Errorf("the largest frame: %+v, %v", h, err)
	}
	inline := Operand{Place: PlaceInline, Size: MaxBody + 1}
	if err := Decode(Append(nil, &Run{Output: inline}), new(Run)); !errors.Is(err, ErrMalformed) {
		t.Errorf("an inline output that no frame can have: %v", err)
	}
	before := []byte("before")
	after, err := AppendFrame(before, TypeStatus, 1, &Data{make([]byte, MaxBody)})
	if err == nil || !bytes.Equal(after, before) {
		t.Errorf("a body that is too large: %d bytes, %v", len(after), err)
	}
}

func TestDeadlinesAreFoundInBodies(t *testing.T) {
	for typ, m := range map[Type]Message{
		TypeJob: &Job{Deadline: 5}, TypeCopy: &Copy{Deadline: 5}, TypeRun: &Run{Deadline: 5}, TypeWeights: &Weights{Deadline: 5},
	} {
		body := Append(nil, m)
		if got := Deadline(typ, body); got != 5 {
			t.Errorf("%v: %d", typ, got)
		}
		if got := Deadline(typ, body[:7]); got != 0 {
			t.Errorf("%v, too short: %d", typ, got)
		}
	}
	if got := Deadline(TypeCancel, Append(nil, &Cancel{5})); got != 0 {
		t.Errorf("cancel: %d", got)
	}
}

func TestTypesAndCodesHaveNames(t *testing.T) {
	for typ := TypeHello; typ <= TypeTexture; typ++ {
		if strings.Contains(typ.String(), "type") || !strings.HasSuffix((typ|ReplyBit).String(), " reply") {
			t.Errorf("type %d is %q, its reply %q", typ, typ, typ|ReplyBit)
		}
	}
	for code := CodeMalformed; code <= CodeInternal; code++ {
		if strings.HasPrefix(code.String(), "code") {
			t.Errorf("code %d is %q", code, code)
		}
	}
	if TypeError.String() != "error" || Type(99).String() != "type 0x0063" || Code(99).String() != "code 99" {
		t.Error(TypeError, Type(99), Code(99))
	}
}

func TestVersionsAreRanges(t *testing.T) {
	for _, c := range []struct {
		oldest, newest uint16
		ok             bool
	}{{Version, Version, true}, {0, 9, true}, {Version + 1, 9, false}, {0, 0, false}, {0, Version - 1, false}} {
		err := (&Hello{Oldest: c.oldest, Newest: c.newest}).CheckVersion()
		var typed *Error
		if (err == nil) != c.ok || err != nil && (!errors.As(err, &typed) || typed.Code != CodeVersion) {
			t.Errorf("%d to %d: %v", c.oldest, c.newest, err)
		}
	}
}

func TestDecodingAJobDoesNotAllocate(t *testing.T) {
	body := Append(nil, sampleJob(make([]byte, 4096), Operand{Place: PlaceMemory, Size: 8}, Operand{Place: PlaceBuffer}))
	job := Job{Objects: oneNumber}
	if n := testing.AllocsPerRun(100, func() {
		if err := Decode(body, &job); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestTheStorageOfAJobIsBounded decodes bodies that are small, each with a long list in another
// dispatch: with more dispatches each time, and with fewer.
func TestTheStorageOfAJobIsBounded(t *testing.T) {
	var got Job
	for i := range 400 {
		long := Job{Job: job.Job{Then: make([]job.Dispatch, min(i, 400-i))}}
		last := long.At(long.Count() - 1)
		for range 1000 {
			last.Uniforms = append(last.Uniforms, job.Int("", 1))
			last.Buffers = append(last.Buffers, job.Bound{Buffer: numbered{}})
		}
		if err := Decode(Append(nil, &long), &got); err != nil {
			t.Fatal(err)
		}
	}
	kept := cap(got.Uniforms) + cap(got.Buffers)
	for _, d := range got.Then[:cap(got.Then)] {
		kept += cap(d.Uniforms) + cap(d.Buffers)
	}
	if kept > 4*maxReused*maxReused {
		t.Errorf("%d elements are kept", kept)
	}
}

// TestFieldsHaveLimits decodes bodies whose sizes fit and whose fields do not.
func TestFieldsHaveLimits(t *testing.T) {
	many := Append(nil, &Program{Name: []byte("add")})
	many[len(many)-2], many[len(many)-1] = 0xFF, 0xFF
	for want, c := range map[string]struct {
		into Message
		body []byte
	}{
		"a text of 256 bytes, at most 255 are allowed": {&Buffer{}, Append(nil, &Buffer{Name: make([]byte, MaxText+1)})},
		"a text that is not UTF-8":                     {&Buffer{}, Append(nil, &Buffer{Name: []byte("a\xFF")})},
		"a list of 65535 elements in 0 bytes":          {&Program{}, many},
	} {
		if err := Decode(c.body, c.into); !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// FuzzDecode decodes any bytes as each kind of message: no panic, and what decodes has
// exactly the bytes that it encodes to.
func FuzzDecode(f *testing.F) {
	messages := make([]Message, 0, len(samples()))
	for _, m := range samples() {
		messages = append(messages, m)
		f.Add(Append(nil, m))
	}
	f.Add(Append(nil, &Hello{Oldest: Version, Newest: Version}))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, sample := range messages {
			m := blank(sample)
			if err := Decode(body, m); err != nil {
				if !errors.Is(err, ErrMalformed) {
					t.Errorf("%T: %v", m, err)
				}
				continue
			}
			if again := Append(nil, m); !bytes.Equal(again, body) {
				t.Errorf("%T: %x became %x", m, body, again)
			}
		}
		_, _ = ParseHeader(body)
	})
}

// The peers of the benchmark: the same job of 4 KiB in the encodings that Go brings.

func benchmarkJob() *Job {
	return sampleJob(make([]byte, 4096), Operand{Place: PlaceMemory, ID: 7, Size: 4096}, Operand{Place: PlaceBuffer, ID: 9})
}

// plainJob is benchmarkJob as encodings with reflection have it.
type plainJob struct {
	Deadline   uint64
	In, Out    []Binding
	Dispatches []plainDispatch
}

type plainDispatch struct {
	Program       uint32
	Groups        [3]uint32
	ParamsBinding uint32
	Params        []byte
	Uniforms      []plainUniform
	Buffers       []Binding
}

type plainUniform struct {
	Kind uint8
	Bits uint32
	Name []byte
}

func benchmarkPlainJob() *plainJob {
	j := benchmarkJob()
	to := &plainJob{Deadline: j.Deadline, In: j.In, Out: j.Out}
	for i := range j.Count() {
		d := j.At(i)
		plain := plainDispatch{Program: idOf(d.Program), Groups: d.Groups, ParamsBinding: d.ParamsBinding, Params: d.Params}
		for _, u := range d.Uniforms {
			bits, _ := u.One()
			plain.Uniforms = append(plain.Uniforms, plainUniform{uint8(len(u.Base())), bits, []byte(u.Name)})
		}
		for _, b := range d.Buffers {
			plain.Buffers = append(plain.Buffers, Binding{b.Binding, Operand{Place: PlaceBuffer, ID: idOf(b.Buffer), Size: uint64(b.Size)}})
		}
		to.Dispatches = append(to.Dispatches, plain)
	}
	return to
}

// oneNumber has one object for all ids, which takes no allocation.
var oneNumber = oneObject{program: numbered{id: 1}, buffer: numbered{id: 9}}

type oneObject struct {
	program job.Program
	buffer  job.Bindable
}

func (o oneObject) Program(uint32) (job.Program, error) { return o.program, nil }

func (o oneObject) Buffer(uint32) (job.Bindable, error) { return o.buffer, nil }

func (o oneObject) Texture(uint32) (job.Texture, error) { return nil, nil }

func BenchmarkJobWire(b *testing.B) {
	job := benchmarkJob()
	var body []byte
	got := Job{Objects: oneNumber}
	b.ReportAllocs()
	for b.Loop() {
		body = Append(body[:0], job)
		if err := Decode(body, &got); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(body)), "bytes")
}

func BenchmarkJobGob(b *testing.B) {
	job := benchmarkPlainJob()
	var stream bytes.Buffer
	in, out := gob.NewEncoder(&stream), gob.NewDecoder(&stream)
	b.ReportAllocs()
	for b.Loop() {
		var got plainJob
		if err := errors.Join(in.Encode(job), out.Decode(&got)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFirstJobGob includes what a fresh client and server pay once.
func BenchmarkFirstJobGob(b *testing.B) {
	job := benchmarkPlainJob()
	for b.Loop() {
		var stream bytes.Buffer
		var got plainJob
		if err := errors.Join(gob.NewEncoder(&stream).Encode(job), gob.NewDecoder(&stream).Decode(&got)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkJobJSON(b *testing.B) {
	job := benchmarkPlainJob()
	b.ReportAllocs()
	for b.Loop() {
		body, err := json.Marshal(job)
		var got plainJob
		if err = errors.Join(err, json.Unmarshal(body, &got)); err != nil {
			b.Fatal(err)
		}
	}
}
