package pack

import (
	"slices"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/shader"
)

// selectPart returns the part of a manifest that the options select and trust. The report has the
// fingerprints of both parts, and the number of the selected files that are not trusted.
func (u *unpacker) selectPart(m *Manifest) *Manifest {
	part := &Manifest{Schema: m.Schema, Created: m.Created, Fingerprints: []Fingerprint{}, Files: []File{}}
	dirs, kinds, others := map[string]bool{}, map[Kind]bool{Source: true}, map[Kind]bool{}
	u.report.Contents, u.report.Trust = m.contents(), u.trust()
	code := map[string]bool{} // the directories of which the programs are native code
	for _, f := range m.Fingerprints {
		kind := driverKind(f.Fingerprint)
		if u.options.isFor(f.Digest) {
			part.Fingerprints = append(part.Fingerprints, f)
			dirs[f.Dir], kinds[kind], code[f.Dir] = true, true, binariesAreCode(f.Fingerprint)
		} else {
			u.report.Skipped = append(u.report.Skipped, f)
			others[kind] = true
		}
	}
	// Machine code without a program of its driver comes from programs that use only
	// layer two. The driver checks it.
	for _, kind := range []Kind{NVIDIA, Mesa} {
		if u.options.isForKind(kind) && (u.options.AnyDriver || !others[kind]) {
			kinds[kind] = true
		}
	}
	for _, f := range m.Files {
		selected := f.ofDriver() && dirs[f.topFolder()] || !f.ofDriver() && kinds[f.Kind]
		switch {
		case !selected:
		case u.report.Trust != TrustNone:
			part.Files = append(part.Files, f)
		case f.isDriverFile():
			u.report.UntrustedDriverFiles++
		case f.Kind == Program && code[f.topFolder()]:
			u.report.UntrustedPrograms++
		default:
			part.Files = append(part.Files, f)
		}
	}
	u.report.Fingerprints, u.report.WithoutMachineCode = part.Fingerprints, part.withoutMachineCode()
	return part
}

// isFor reports whether programs of a driver are imported.
func (o ImportOptions) isFor(driver shader.Digest) bool {
	return o.AnyDriver || slices.ContainsFunc(o.Drivers, func(d binary.Fingerprint) bool { return d.Digest() == driver })
}

// isForKind reports whether driver files of a kind may be imported.
func (o ImportOptions) isForKind(kind Kind) bool {
	return o.AnyDriver || slices.ContainsFunc(o.Drivers, func(d binary.Fingerprint) bool { return driverKind(d) == kind })
}

// trust returns the reason for importing native code.
func (u *unpacker) trust() Trust {
	switch {
	case u.report.Verified:
		return TrustSignature
	case u.options.Expect != nil:
		return TrustDigest
	case u.options.Trust:
		return TrustCaller
	}
	return TrustNone
}
