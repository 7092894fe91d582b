package pack

import "io"

// The limits of the unpacked size, relative to the compressed bytes that were read so
// far. A few kilobytes of zstd can unpack to gigabytes of zeros, which no cache has:
// programs and machine code are compressed 3 to 10 times, and a manifest about 4 times,
// since half of it are digests. The slack is for small bundles, and for Mesa's index of
// 1.3 MiB, mostly zeros.
const (
	unpackedRatio = 100
	unpackedSlack = 64 << 20
	manifestRatio = 32
	manifestSlack = 1 << 20
)

// ratioReader reads what input unpacks to, and refuses bytes above a multiple of the bytes of
// input, and slack.
type ratioReader struct {
	from   io.Reader
	input  *unsealReader
	member string // that is read; "": the archive
	bytes  int64  // that were read
	err    error

	ratio, slack int64
}

func (r *ratioReader) Read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	n, err := r.from.Read(p)
	r.bytes += int64(n)
	if limit := r.input.bytes*r.ratio + r.slack; r.bytes > limit {
		r.err = refused(r.member, "the first %d bytes of the bundle unpack to more than %d", r.input.bytes, limit)
		return 0, r.err
	}
	return n, err
}
