package jobtest

import "github.com/shadercache/shadercache/job"

// buffers are cases of buffers and of named ones.
func buffers() []testCase {
	return []testCase{
		{name: "a new buffer is zero", do: func(r *run) {
			b := r.buffer(64)
			r.note("%d bytes, version %d, created %t", b.Size(), b.Version(), b.Created())
			r.contents(b, 0, 256)
		}},
		{name: "a new large buffer is zero", do: func(r *run) {
			b, got := r.buffer(large), poisoned(large)
			_, err := b.Read(r.Context(), 0, bytesOf(got))
			r.ok(err)
			r.same(got, make([]uint32, large))
		}},
		{name: "bytes at any offset", do: func(r *run) {
			b := r.buffer(16)
			for offset, data := range [][]byte{{1}, {2, 3}, {4, 5, 6, 7, 8}} {
				_, err := b.Write(r.Context(), 7*offset+1, data)
				r.ok(err)
			}
			r.contents(b, 0, 64)
			r.contents(b, 3, 13)
		}},
		{name: "a large buffer is written and read", do: func(r *run) {
			b, got := r.buffer(large, counted(large)...), poisoned(large-2)
			_, err := b.Read(r.Context(), 4, bytesOf(got))
			r.ok(err)
			r.same(got, counted(large)[1:large-1])
		}},
		{name: "outside a buffer", do: func(r *run) {
			b := r.buffer(256)
			const far = int(^uint(0) >> 1)
			for _, c := range []struct{ offset, n int }{{-1, 4}, {0, 0}, {1020, 8}, {4096, 4}, {far, 4}} {
				_, err := b.Read(r.Context(), c.offset, make([]byte, c.n))
				r.fails("Read", err, job.ErrInvalid)
				_, err = b.Write(r.Context(), c.offset, make([]byte, c.n))
				r.fails("Write", err, job.ErrInvalid)
				_, err = b.Replace(r.Context(), c.offset, make([]byte, c.n), 0, 1)
				r.fails("Replace", err, job.ErrInvalid)
			}
			r.contents(b, 0, 4)
		}},
		{name: "a named buffer", do: func(r *run) {
			b, err := r.NamedBuffer(r.Context(), "state", 64)
			r.ok(err)
			r.note("%d bytes, version %d, created %t", b.Size(), b.Version(), b.Created())
			r.contents(b, 0, 64)
			_, err = b.Write(r.Context(), 0, []byte("kept"))
			r.ok(err)
			b.Release()
			b, err = r.NamedBuffer(r.Context(), "state", 64)
			r.ok(err)
			r.note("%d bytes, version %d, created %t", b.Size(), b.Version(), b.Created())
			r.contents(b, 0, 64)
			_, err = r.NamedBuffer(r.Context(), "state", 128)
			r.fails("another size", err, job.ErrExists)
			r.ok(r.DeleteBuffer(r.Context(), "state"))
			r.contents(b, 0, 4) // those that have it open keep it
			b.Release()
			r.fails("delete again", r.DeleteBuffer(r.Context(), "state"), job.ErrNotFound)
		}},
		{name: "a named buffer of two", do: func(r *run) {
			one, err := r.NamedBuffer(r.Context(), "two", 256)
			r.ok(err)
			two, err := r.NamedBuffer(r.Context(), "two", 256)
			r.ok(err)
			r.do(r.increase(job.Bound{Buffer: one}))
			r.contents(two, 0, 8)
			one.Release()
			r.do(r.increase(job.Bound{Buffer: two}))
			r.contents(two, 0, 8)
			two.Release()
			r.ok(r.DeleteBuffer(r.Context(), "two"))
		}},
		{name: "a name that is made again", do: func(r *run) {
			old, err := r.NamedBuffer(r.Context(), "again", 64)
			r.ok(err)
			_, err = old.Write(r.Context(), 0, []byte("old"))
			r.ok(err)
			r.ok(r.DeleteBuffer(r.Context(), "again"))
			b, err := r.NamedBuffer(r.Context(), "again", 128)
			r.ok(err)
			r.contents(b, 0, 8)
			r.contents(old, 0, 8)
			r.ok(r.DeleteBuffer(r.Context(), "again"))
			old.Release()
			b.Release()
		}},
		{name: "no name", do: func(r *run) {
			_, err := r.NamedBuffer(r.Context(), "", 64)
			r.fails("NamedBuffer", err, job.ErrInvalid)
			r.fails("DeleteBuffer", r.DeleteBuffer(r.Context(), "noSuchName"), job.ErrNotFound)
		}},
	}
}

// versions are cases of the version of a buffer.
func versions() []testCase {
	return []testCase{
		{name: "each write counts", do: func(r *run) {
			b := r.buffer(64)
			for range 3 {
				version, err := b.Write(r.Context(), 0, []byte{1})
				r.ok(err)
				r.note("%d", version)
			}
			r.do(r.increase(job.Bound{Buffer: b}))
			r.contents(b, 0, 4)
		}},
		{name: "a job that reads and writes counts once", do: func(r *run) {
			b := r.buffer(128)
			j := &job.Job{Dispatch: job.Dispatch{Program: r.get(tripled), Groups: groups(64), Buffers: []job.Bound{{Buffer: b, Size: 256, ReadOnly: true}, {Binding: 1, Buffer: b, Offset: 256}}}}
			r.do(j)
			r.contents(b, 0, 4)
		}},
		{name: "a chain counts once", do: func(r *run) {
			b := r.buffer(64)
			j := r.increase(job.Bound{Buffer: b})
			j.Then = []job.Dispatch{j.Dispatch, j.Dispatch}
			r.do(j)
			r.contents(b, 0, 4)
		}},
		{name: "who only reads does not count", do: func(r *run) {
			b, out := r.buffer(64), poisoned(64)
			r.do(&job.Job{
				Dispatch: job.Dispatch{Program: r.get(tripled), Groups: groups(64), Buffers: []job.Bound{{Buffer: b, ReadOnly: true}}},
				Outputs:  []job.Output{{Binding: 1, To: bytesOf(out)}},
			})
			r.contents(b, 0, 4)
		}},
		{name: "a job that is refused does not count", do: func(r *run) {
			b := r.buffer(64)
			j := r.increase(job.Bound{Buffer: b})
			j.Groups[1] = 0
			if r.Device.Run(r.Context(), j) == nil {
				r.Error("it ran")
			}
			r.contents(b, 0, 4)
		}},
		{name: "replace", do: func(r *run) {
			b := r.buffer(64, 1)
			version, err := b.Replace(r.Context(), 0, []byte("abcd"), 1, 99)
			r.ok(err)
			r.note("%d", version)
			_, err = b.Replace(r.Context(), 0, []byte("efgh"), 1, 100)
			r.fails("Replace again", err, job.ErrConflict)
			r.contents(b, 0, 8)
			version, err = b.Replace(r.Context(), 4, []byte("ijkl"), 99, 0)
			r.ok(err)
			r.note("%d", version)
			r.contents(b, 0, 8)
		}},
	}
}
