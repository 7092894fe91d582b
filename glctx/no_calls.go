//go:build !linux || !cgo

package glctx

import (
	"context"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/job/texel"
	"github.com/shadercache/shadercache/recording"
	"github.com/shadercache/shadercache/shader"
)

// Without cgo there is no context, and so nothing calls these: they are here so that what uses
// a context compiles for every system. A method of GL that others call is added here too.

type priming uint8

type debugSink struct{}

func (*GL) NewBuffer(size int, data []byte) (Buffer, error)                       { return Buffer{}, errNoCgo() }
func (*GL) DeleteBuffer(b Buffer)                                                 {}
func (*GL) Upload(b Buffer, offset int, data []byte)                              {}
func (*GL) Download(b Buffer, offset int, dst []byte)                             {}
func (*GL) Fill(b Buffer, word uint32)                                            {}
func (*GL) Clear(b Buffer, offset, n int)                                         {}
func (*GL) Copy(from Buffer, fromOffset int, to Buffer, toOffset, n int)          {}
func (*GL) BindStorage(binding uint32, b Buffer)                                  {}
func (*GL) BindStorageRange(binding uint32, b Buffer, offset, n int)              {}
func (*GL) BindUniformsRange(binding uint32, b Buffer, offset, n int)             {}
func (*GL) Info() Info                                                            { return Info{} }
func (*GL) Err() error                                                            { return errNoCgo() }
func (*GL) takeDebugError() error                                                 { return errNoCgo() }
func (*GL) isLost() bool                                                          { return false }
func (*GL) CheckLost() error                                                      { return errNoCgo() }
func (*GL) UseProgram(program uint32)                                             {}
func (*GL) UniformLocation(program uint32, name string) int32                     { return 0 }
func (*GL) Dispatch(x, y, z uint32)                                               {}
func (*GL) DispatchSized(x, y, z uint32, size [3]uint32)                          {}
func (*GL) DispatchNone()                                                         {}
func (*GL) DispatchIndirect(b Buffer, offset int)                                 {}
func (*GL) MemoryBarrier(bits uint32)                                             {}
func (*GL) Flush()                                                                {}
func (*GL) Finish()                                                               {}
func (*GL) NewFence() Fence                                                       { return Fence{} }
func (*GL) WaitFence(f Fence, timeout time.Duration) (bool, error)                { return false, errNoCgo() }
func (*GL) DeleteFence(f Fence)                                                   {}
func (*Context) GPUMemory() (total, free int64)                                   { return }
func (*GL) OnHost(ranges []HostRange, fn func(memory [][]byte) error) (err error) { return }
func (*GL) NewMapped(words int, o MapOptions) (MappedBuffer, error) {
	return MappedBuffer{}, errNoCgo()
}
func (*GL) FlushMapped(m MappedBuffer, first, words int) {}
func (*GL) DeleteMapped(m MappedBuffer)                  {}
func (*GL) NewPinned(memory []byte) (Buffer, error)      { return Buffer{}, errNoCgo() }
func (*Context) Priming() string                         { return "" }
func (*Context) Fingerprint() binary.Fingerprint         { return binary.Fingerprint{} }
func (*Context) Compile(ctx context.Context, sources []*shader.Source, done func(i int, p shader.Program, err error)) {
}
func (*Context) Load(ctx context.Context, format uint32, payload []byte) (p shader.Program, err error) {
	return
}
func (*GL) loadBinary(format uint32, payload []byte) (shader.Program, error) {
	return shader.Program{}, errNoCgo()
}
func (*GL) finishProgram(p *shader.Program, wait bool) error { return errNoCgo() }
func (*Context) Binary(ctx context.Context, id uint32) (format uint32, payload []byte, err error) {
	return
}
func (*Context) Delete(id uint32)                                                         {}
func (*Context) Replay(ctx context.Context, p *recording.Program) (r Replayed, err error) { return }
func (*GL) NewSampler(state texel.Sampler) (Sampler, error)                               { return Sampler{}, errNoCgo() }
func (*GL) DeleteSampler(s Sampler)                                                       {}
func (*Context) setUp() error                                                             { return errNoCgo() }
func (*Context) tearDown()                                                                {}
func (*GL) NewStaging(size int, direction Direction) (Staging, error)                     { return Staging{}, errNoCgo() }
func (*GL) DeleteStaging(s Staging)                                                       {}
func (*GL) NewTexture(shape texel.Shape) (Texture, error)                                 { return Texture{}, errNoCgo() }
func (*GL) DeleteTexture(t Texture)                                                       {}
func (*GL) BindImage(unit uint32, t Texture, level, layer int, access string, format texel.Format) {
}
func (*GL) BindTexture(unit uint32, t Texture, s Sampler)                          {}
func (*GL) UnbindSampler(unit uint32)                                              {}
func (*GL) BindCounters(binding uint32, b Buffer, offset, n int)                   {}
func (*GL) UploadTexture(t Texture, r texel.Region, texels []byte) error           { return errNoCgo() }
func (*GL) DownloadTexture(t Texture, r texel.Region, dst []byte) error            { return errNoCgo() }
func (*GL) CopyToTexture(t Texture, r texel.Region, from Buffer, offset int) error { return errNoCgo() }
func (*GL) CopyFromTexture(t Texture, r texel.Region, to Buffer, offset int) error { return errNoCgo() }
func (*GL) ClearTexture(t Texture, r texel.Region, value []byte) error             { return errNoCgo() }
func (*GL) NewQuery() Query                                                        { return Query{} }
func (*GL) WriteTimestamp(q Query)                                                 {}
func (*GL) Timestamp(q Query) time.Duration                                        { return 0 }
func (*GL) DeleteQuery(q Query)                                                    {}
func (*GL) GPUTime() time.Duration                                                 { return 0 }
func (*GL) SetInt(location, v int32)                                               {}
func (*GL) SetUint(location int32, v uint32)                                       {}
func (*GL) SetFloat(location int32, v float32)                                     {}
func (*GL) SetUniform(location int32, t shader.Type, values []byte)                {}
func (*GL) UniformType(program uint32, name string) shader.Type                    { return 0 }
func (*GL) Variables(program uint32) ([]Variable, error)                           { return nil, errNoCgo() }

func isCurrent() bool { return false }
