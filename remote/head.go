package remote

import (
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/shader"
)

// Head lists the packs of one driver. It is signed with an ed25519 key: the signature
// covers fingerprint, sequence and digests.
type Head struct {
	Schema      int                `json:"schema"`
	Fingerprint shader.Digest      `json:"fingerprint"`
	Driver      binary.Fingerprint `json:"driver"`
	Sequence    uint64             `json:"sequence"` // grows by one with each change
	Time        time.Time          `json:"time"`
	Packs       []Pack             `json:"packs"` // the oldest first
}

// Pack is a bundle in the remote.
type Pack struct {
	SHA256      shader.Digest `json:"sha256"`
	Size        int64         `json:"size"`     // bytes of the object
	Unpacked    int64         `json:"unpacked"` // bytes of its files
	Programs    int           `json:"programs"`
	DriverFiles int           `json:"driver_files"`
}
