package bundle

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/drivercache/nvidia"
)

// defaultMaxBytes is far above what programs of one machine take, and far below
// what fills a disk.
const defaultMaxBytes = 4 << 30

// ImportOptions say what is taken from a bundle. One of Current and AnyDriver
// has to be set.
type ImportOptions struct {
	// Current is the driver of this machine: programs and machine code of others
	// are skipped. Sources are for every driver.
	Current *binary.Fingerprint
	// AnyDriver takes what every driver made, for machines without a GPU that
	// prepare a directory for others.
	AnyDriver bool
	// VerifyKey is the key that must have signed the bundle; nil = the signature is not
	// checked, and no native code is taken unless Trust is set.
	VerifyKey ed25519.PublicKey
	// Trust takes native code from a bundle whose signature no key proves. Only set it
	// for a bundle whose origin is known otherwise: see the type Trust.
	Trust bool
	// MaxBytes bounds what the bundle may unpack to; 0 = 4 GiB.
	MaxBytes int64
	// Progress is called from Import with the bytes read and their number, after
	// decompression; nil = not.
	Progress func(done, total int64)
}

// ImportReport says what an import did.
type ImportReport struct {
	Signed   bool `json:"signed"`
	Verified bool `json:"verified"` // the signature was compared with a key

	// Trust is the reason for which native code was taken. Without one these files of
	// this machine's drivers were left out.
	Trust                Trust `json:"trust"`
	UntrustedPrograms    int   `json:"untrusted_programs"`
	UntrustedDriverFiles int   `json:"untrusted_driver_files"`

	Fingerprints []Fingerprint `json:"fingerprints"`      // taken
	Skipped      []Fingerprint `json:"skipped,omitempty"` // made by other drivers

	Programs    int   `json:"programs"`     // new here
	Sources     int   `json:"sources"`      // new here
	Tunings     int   `json:"tunings"`      // new here
	DriverFiles int   `json:"driver_files"` // new here
	Present     int   `json:"present"`      // files that were here before
	Bytes       int64 `json:"bytes"`        // of the new files

	// Merge says what became of NVIDIA's slots. MergePending is true when the
	// driver's cache is in use: the new slots are in place, and the next merge
	// makes them count.
	Merge        nvidia.Report `json:"merge"`
	MergePending bool          `json:"merge_pending"`
}

// Import takes what a bundle holds into a directory. What is there already
// stays. It is all or nothing: an import that fails or is killed before the
// whole bundle was read and found well has no effect, and one that is killed
// afterwards is completed by the next, whatever that imports.
//
// Native code is taken only from a bundle that VerifyKey proves, or if Trust is set: the
// report has the number of files that were left out.
//
// It returns a *RefusedError for a bundle that is damaged or holds what no
// export writes, ErrUnsigned or ErrSignature where a key asks for more, and
// ErrBusy while another import into the directory is under way.
func Import(r io.Reader, dir *binary.Dir, o ImportOptions) (ImportReport, error) {
	if o.Current == nil && !o.AnyDriver {
		return ImportReport{}, errors.New("bundle: import: the driver of this machine is not known: say which, or take what any driver made")
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = defaultMaxBytes
	}
	var report ImportReport
	err := exclusively(dir, func(i *installer) error {
		if _, err := i.install(); err != nil {
			return err
		}
		b := unpacking{options: o, root: i.root, staged: filepath.Join(dir.Path(), stagingNew)}
		err := b.run(r)
		if err != nil {
			return errors.Join(err, i.root.RemoveAll(stagingName))
		}
		report, err = i.install()
		report.Signed, report.Verified, report.Skipped = b.signed, b.verified, b.skipped
		report.Trust, report.UntrustedPrograms, report.UntrustedDriverFiles = b.trust(), b.untrustedPrograms, b.untrustedDriverFiles
		return err
	})
	if err != nil {
		return report, fmt.Errorf("bundle: import: %w", err)
	}
	return report, nil
}

// ImportFile is Import from a file.
func ImportFile(path string, dir *binary.Dir, o ImportOptions) (ImportReport, error) {
	f, err := os.Open(path)
	if err != nil {
		return ImportReport{}, fmt.Errorf("bundle: import: %w", err)
	}
	defer f.Close()
	return Import(f, dir, o)
}

// Recover completes an import that was killed after its bundle was found well,
// and deletes what one left that was killed before. Import does so by itself.
func Recover(dir *binary.Dir) error {
	if _, err := os.Lstat(filepath.Join(dir.Path(), stagingName)); err != nil {
		return nil
	}
	err := exclusively(dir, func(i *installer) error {
		_, err := i.install()
		return err
	})
	if err != nil {
		return fmt.Errorf("bundle: recover: %w", err)
	}
	return nil
}

// exclusively runs one import at a time in a directory.
func exclusively(dir *binary.Dir, do func(*installer) error) (err error) {
	lock, err := drivercache.TryExclusive(filepath.Join(dir.Path(), stagingName))
	if errors.Is(err, drivercache.ErrInUse) {
		return fmt.Errorf("%w into %s", ErrBusy, dir.Path())
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	root, err := os.OpenRoot(dir.Path())
	if err != nil {
		return err
	}
	defer root.Close()
	return do(&installer{dir: dir, root: root})
}
