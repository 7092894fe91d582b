package binary

import (
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// The process has one encoder and one decoder. They are made at first use, because most
// processes only read, and some have no compressed blobs. They have one worker each:
// more cost memory and do not speed up blobs of 20 KB.
var (
	encoder = sync.OnceValue(func() *zstd.Encoder {
		e, err := zstd.NewWriter(nil,
			zstd.WithEncoderConcurrency(1),
			zstd.WithWindowSize(1<<20),
			zstd.WithLowerEncoderMem(true),
			zstd.WithEncoderCRC(false)) // the envelope has a checksum of its own
		if err != nil {
			panic(fmt.Sprintf("binary: zstd encoder options are wrong: %v", err))
		}
		return e
	})
	decoder = sync.OnceValue(func() *zstd.Decoder {
		d, err := zstd.NewReader(nil,
			zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxMemory(MaxPayloadBytes),
			zstd.WithDecodeAllCapLimit(true))
		if err != nil {
			panic(fmt.Sprintf("binary: zstd decoder options are wrong: %v", err))
		}
		return d
	})
)

// compress returns data compressed, which may be longer than data.
func compress(data []byte) []byte {
	return encoder().EncodeAll(data, make([]byte, 0, len(data)/4+64))
}

// decompress returns the rawBytes bytes that were compressed to data. It stops at
// rawBytes, whatever data holds.
func decompress(data []byte, rawBytes int) ([]byte, error) {
	raw, err := decoder().DecodeAll(data, make([]byte, 0, rawBytes))
	if err != nil {
		return nil, damaged("payload does not decompress: %v", err)
	}
	if len(raw) != rawBytes {
		return nil, damaged("payload decompresses to %d bytes, the header says %d", len(raw), rawBytes)
	}
	return raw, nil
}
