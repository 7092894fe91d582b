// Package pack moves a cache from one machine to another: program binaries,
// the driver's own machine code, and the sources, in one file. A machine that imports
// it starts with a warm cache.
//
// A bundle is a tar archive, compressed with zstd, so "tar --zstd -tf" lists it:
//
//	member                        content
//	manifest.json                 the list of all files, with sizes and SHA-256 sums
//	manifest.sig                  ed25519 signature of the manifest; in signed bundles only
//	<fingerprint>/blobs/5e/*.bin  program binaries
//	driver/...                    the driver's own cache
//	sources/5e/*.glsl.zst         sources
//
// After the compressed archive comes a seal: a skippable frame of zstd with the
// SHA-256 of all bytes before it.
//
// [Export] is deterministic: it writes the same bytes for the same directory. [Import]
// checks all of the bundle. It unpacks it into a staging folder in the cache directory
// and checks every name against a fixed grammar and every checksum against the
// manifest. Only a bundle without faults is installed.
//
// A bundle is executable code. An import without a signature of the caller's key leaves
// out the files that the driver executes, unless the caller trusts the bundle: see
// [Trust].
package pack
