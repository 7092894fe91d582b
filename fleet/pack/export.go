package pack

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/shader"
)

// ExportOptions select the content of a bundle. The zero value selects everything,
// without a signature.
type ExportOptions struct {
	// Fingerprints are the drivers whose programs are exported. Default: all.
	Fingerprints []shader.Digest
	// NoDriverCache leaves out the drivers' own machine code. After the import, the
	// first dispatch of every program then compiles again.
	NoDriverCache bool
	// NoSources leaves out the sources, which are used by a rebuild after a driver
	// update only.
	NoSources bool
	// Without are items that are left out. Default: none.
	Without map[Item]struct{}
	// SignKey signs the bundle. Default: no signature.
	SignKey ed25519.PrivateKey
	// Done cancels Export, with context.Canceled, when it is closed. It may be nil.
	Done <-chan struct{}
	// Progress is called by Export with the bytes that were written and their total,
	// before compression. It may be nil.
	Progress func(done, total int64)
}

// ExportReport is the content of an exported bundle.
type ExportReport struct {
	Contents     []Content     `json:"contents"`           // what the file holds, by driver
	Fingerprints []Fingerprint `json:"fingerprints"`       // drivers in the file
	Programs     int           `json:"programs"`           // program binaries in the file
	Sources      int           `json:"sources"`            // texts in the file
	Tunings      int           `json:"tunings"`            // results of tuning in the file
	DriverFiles  int           `json:"driver_files"`       // of the driver's own cache in the file
	Bytes        int64         `json:"bytes"`              // before compression
	LeftOut      []LeftOut     `json:"left_out,omitempty"` // what the file lacks

	WithoutMachineCode []string `json:"without_machine_code,omitempty"` // drivers whose programs compile at their first dispatch

	Items []Item        `json:"-"` // of the bundle
	Saves time.Duration `json:"-"` // what its programs took to compile where they were made; those without a time count as 0
}

// LeftOut is a file of the directory that is not in the bundle because it is damaged or
// unknown.
type LeftOut struct {
	Path   string `json:"path"`   // below the cache directory
	Reason string `json:"reason"` // why
}

// Export writes a bundle of a directory, which it does not change. Other processes may
// use the directory: files that they add meanwhile may be missing in the bundle.
// Damaged files are left out and reported. The bytes depend only on the content of
// the directory, not on time or place. The error matches ErrEmpty if there is nothing to
// export.
func Export(w io.Writer, dir *binary.Dir, o ExportOptions) (ExportReport, error) {
	r, err := export(w, dir, o)
	if err != nil {
		return r, fmt.Errorf("bundle: export: %w", err)
	}
	return r, nil
}

func export(w io.Writer, dir *binary.Dir, o ExportOptions) (r ExportReport, err error) {
	s, err := newSpool()
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, osfile.CloseUnnamed(s.file)) }()
	c := collector{spool: s, dir: dir, options: o}
	m, err := c.collect()
	r.LeftOut = c.leftOut
	if err != nil {
		return r, err
	}
	r.Saves = c.saves
	r.Contents, r.Fingerprints, r.WithoutMachineCode = m.contents(), m.Fingerprints, m.withoutMachineCode()
	for _, f := range m.Files {
		*f.Kind.counter(&r.Programs, &r.Sources, &r.Tunings, &r.DriverFiles)++
		r.Bytes += f.Size
	}
	if r.Items, err = m.items(func(f File) ([]byte, error) { return io.ReadAll(s.open(f)) }); err != nil {
		return r, err
	}
	return r, write(w, m, s, o)
}

// exportWindow is the window size of Export. A reader needs twice the window, whatever
// the size of the bundle; 8 MiB compress the programs of one driver no better than 1 MiB.
const exportWindow = 1 << 20

// write writes the bundle: the compressed archive and the seal.
func write(w io.Writer, m *Manifest, s *spool, o ExportOptions) error {
	manifest, err := m.encode()
	if err != nil {
		return err
	}
	if len(manifest) > maxManifestBytes {
		return fmt.Errorf("the manifest has %d bytes, more than the limit of %d: export fewer fingerprints", len(manifest), maxManifestBytes)
	}
	if head := bytes.Index(manifest, []byte(filesStart)); head > maxHeadBytes-len(filesStart) {
		return fmt.Errorf("the fingerprints of the manifest have %d bytes, more than the limit of %d: export fewer", head, maxHeadBytes)
	}
	sealed := newSealWriter(w)
	// One worker: the bytes must not depend on the number of processors.
	z, err := zstd.NewWriter(sealed, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(exportWindow))
	if err != nil {
		return err
	}
	archive := tar.NewWriter(z)
	err = addMember(archive, manifestName, int64(len(manifest)), bytes.NewReader(manifest))
	if err == nil && o.SignKey != nil {
		signature := sign(o.SignKey, manifest)
		err = addMember(archive, signatureName, int64(len(signature)), bytes.NewReader(signature))
	}
	if err == nil {
		err = writeFiles(archive, m, s, o)
	}
	if err == nil {
		err = archive.Close()
	}
	if closeErr := z.Close(); err == nil { // also after a failure, which it returns again
		err = closeErr
	}
	if err != nil {
		return err
	}
	return sealed.finish()
}

func writeFiles(archive *tar.Writer, m *Manifest, s *spool, o ExportOptions) error {
	total, done := m.bytes(), int64(0)
	for _, f := range m.Files {
		if err := o.ended(); err != nil {
			return err
		}
		if err := addMember(archive, f.Path, f.Size, s.open(f)); err != nil {
			return err
		}
		if done += f.Size; o.Progress != nil {
			o.Progress(done, total)
		}
	}
	return nil
}

// ended returns context.Canceled if Done is closed.
func (o *ExportOptions) ended() error {
	select {
	case <-o.Done:
		return context.Canceled
	default:
		return nil
	}
}

func addMember(archive *tar.Writer, name string, size int64, content io.Reader) error {
	if err := archive.WriteHeader(memberHeader(name, size)); err != nil {
		return err
	}
	_, err := io.Copy(archive, content)
	return err
}

// memberHeader returns the header of a member: a regular file without time and owner,
// so that only name and size differ.
func memberHeader(name string, size int64) *tar.Header {
	return &tar.Header{
		Typeflag: tar.TypeReg,
		Name:     name,
		Size:     size,
		Mode:     0o600,
		ModTime:  time.Unix(0, 0),
		Format:   tar.FormatUSTAR,
	}
}

// selects reports whether the programs of a fingerprint are exported.
func (o *ExportOptions) selects(d shader.Digest) bool {
	return o.Fingerprints == nil || slices.Contains(o.Fingerprints, d)
}
