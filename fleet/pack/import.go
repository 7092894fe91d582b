package pack

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

// defaultMaxBytes is far above the size of one machine's programs, and far below that
// of a disk.
const defaultMaxBytes = 4 << 30

// ImportOptions select what is imported from a bundle. Drivers or AnyDriver has to be
// set.
type ImportOptions struct {
	// Drivers are those of this machine's GPUs: programs and machine code of other
	// drivers are skipped. Sources are imported for every driver.
	Drivers []binary.Fingerprint
	// AnyDriver imports the files of all drivers, on machines without a GPU that
	// prepare a directory for others.
	AnyDriver bool
	// VerifyKey is the key that the signature must match. Default: signatures are not
	// verified, and native code is left out unless Trust is set.
	VerifyKey ed25519.PublicKey
	// Trust imports native code from a bundle whose signature is not verified. It is
	// only for bundles of known origin: see the type Trust.
	Trust bool
	// Expect are properties of the bundle that the caller has from a trusted source, such
	// as the signed head of a remote. Default: none.
	Expect *Expected
	// Unrecorded leaves the programs out of the indexes, and syncs NVIDIA's slots only: it
	// is for a start that waits. The next Record of each store adds the programs. A power
	// cut may leave empty files, until the caller has synced the volume.
	Unrecorded bool
	// Merge merges NVIDIA's slots, after new ones were added. Default: drivercache.Merge,
	// which does nothing while a process uses the directory.
	Merge func(driverDir string) (nvidia.Report, error)
	// MaxBytes limits the size of the unpacked bundle. Default: 4 GiB.
	MaxBytes int64
	// Progress is called by Import with the bytes that were read and their total,
	// after decompression. It may be nil.
	Progress func(done, total int64)
}

// ImportReport is the result of an import.
type ImportReport struct {
	Signed   bool `json:"signed"`   // the file has a signature
	Verified bool `json:"verified"` // the signature matches VerifyKey

	Trust                Trust `json:"trust"`                  // the reason for importing native code
	UntrustedPrograms    int   `json:"untrusted_programs"`     // left out for lack of a reason
	UntrustedDriverFiles int   `json:"untrusted_driver_files"` // left out for lack of a reason

	Contents     []Content     `json:"contents"`          // what the bundle holds, by driver
	Fingerprints []Fingerprint `json:"fingerprints"`      // imported
	Skipped      []Fingerprint `json:"skipped,omitempty"` // made by other drivers

	WithoutMachineCode []string `json:"without_machine_code,omitempty"` // drivers whose programs compile at their first dispatch

	Programs    int   `json:"programs"`     // added
	Sources     int   `json:"sources"`      // added
	Tunings     int   `json:"tunings"`      // added
	DriverFiles int   `json:"driver_files"` // added
	Present     int   `json:"present"`      // files that the directory had before
	Bytes       int64 `json:"bytes"`        // of the added files

	// Merge is the result of merging NVIDIA's slots. MergePending is true when the
	// driver's cache is in use, or a merge has no room: the new slots are in place, and are
	// read after the next merge.
	Merge        nvidia.Report `json:"merge"`
	MergePending bool          `json:"merge_pending"` // the slots are in use, or have no room; the next start that can merges them

	Items []Item `json:"-"` // of the selected files
}

// Import adds the content of a bundle to a directory and keeps the files that it has.
// It is atomic: an import that fails or is killed before the whole bundle was read and
// checked has no effect, and one that is killed afterwards is completed by the next
// import of any bundle.
//
// Native code is imported only if the signature matches VerifyKey, if Trust is set, or if the
// bundle is the one that Expect describes.
// The report has the number of files that were left out.
//
// It returns a *RefusedError for a bundle that is damaged or has content that Export
// does not write, ErrUnsigned or ErrSignature if a key is given and does not match,
// and ErrBusy while another import into the directory runs.
func Import(r io.Reader, dir *binary.Dir, o ImportOptions) (ImportReport, error) {
	if len(o.Drivers) == 0 && !o.AnyDriver {
		return ImportReport{}, errors.New("bundle: import: the driver of this machine is not known: set Drivers or AnyDriver")
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = defaultMaxBytes
	}
	if o.Merge == nil {
		o.Merge = drivercache.Merge
	}
	var report ImportReport
	err := withInstaller(dir, func(i *installer) error {
		i.mergeSlots = o.Merge
		if err := i.install(); err != nil {
			return err
		}
		b := unpacker{options: o, root: i.root}
		m, err := b.run(o.Expect.check(r))
		if err != nil {
			return errors.Join(err, i.root.RemoveAll(stagingName))
		}
		i.unrecorded, i.report = o.Unrecorded, b.report
		err = i.installManifest(m)
		report = i.report
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

// Recover completes an import that was killed after its bundle was checked, and deletes
// the files of one that was killed before. Import does the same first. While another import runs
// it does nothing.
func Recover(dir *binary.Dir) error {
	if _, err := os.Lstat(filepath.Join(dir.Path(), stagingName)); err != nil {
		return nil
	}
	err := withInstaller(dir, (*installer).install)
	if err != nil && !errors.Is(err, ErrBusy) {
		return fmt.Errorf("bundle: recover: %w", err)
	}
	return nil
}

// withInstaller calls do with an installer, for one import at a time in a directory.
func withInstaller(dir *binary.Dir, do func(*installer) error) (err error) {
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
	return do(&installer{dir: dir, root: root, mergeSlots: drivercache.Merge})
}
