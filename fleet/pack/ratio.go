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

// ratioReader reads from a decompressor and refuses bytes above unpackedRatio.
type ratioReader struct {
	from  io.Reader
	input *unsealReader
	bytes int64
	err   error
}

func (r *ratioReader) Read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	n, err := r.from.Read(p)
	r.bytes += int64(n)
	if limit := r.input.bytes*unpackedRatio + unpackedSlack; r.bytes > limit {
		r.err = refused("", "its first %d bytes unpack to more than %d", r.input.bytes, limit)
		return 0, r.err
	}
	return n, err
}

// readManifestBytes reads the member with the manifest and refuses bytes above
// manifestRatio.
func (u *unpacker) readManifestBytes() ([]byte, error) {
	var data []byte
	chunk := make([]byte, 64<<10)
	for {
		n, err := u.archive.Read(chunk)
		data = append(data, chunk[:n]...)
		if limit := u.input.bytes*manifestRatio + manifestSlack; int64(len(data)) > limit {
			return nil, refused(manifestName, "the first %d bytes of the bundle unpack to more than %d", u.input.bytes, limit)
		}
		if err == io.EOF {
			return data, nil
		}
		if err != nil {
			return nil, u.readError(err)
		}
	}
}
