// Package bundle moves a cache from one machine to another: program binaries,
// the driver's own machine code, and the sources, in one file. A fresh machine
// that imports it starts as warm as the machine it came from.
//
// A bundle is a tar archive, compressed with zstd, so "tar --zstd -tf" lists it:
//
//	member                        content
//	manifest.json                 what is in the bundle, with sizes and SHA-256 sums
//	manifest.sig                  ed25519 signature of the manifest; only where it was signed
//	<fingerprint>/blobs/5e/*.bin  program binaries
//	driver/...                    the driver's own cache
//	sources/5e/*.glsl.zst         sources
//
// Behind the compressed archive stands a seal: a frame that zstd skips, with the
// SHA-256 of everything before it.
//
// [Export] writes the same bytes for the same directory, always. [Import] checks
// everything: it reads all of a bundle into a folder of its own inside the cache
// directory, compares every name with a fixed grammar and every sum with the
// manifest, and only when all is well does anything come into view.
//
// A bundle is executable code. Without a signature that the caller's key proves, or the
// caller's word, an import leaves out everything that a driver would run: see [Trust].
package bundle
