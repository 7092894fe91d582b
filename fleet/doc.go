// Package fleet keeps packs in a store that a fleet shares, so that a machine which never
// ran a program starts warm.
//
// A pack is a bundle of one driver's program binaries and machine code. A remote is a place
// with packs, named by a URL; for each driver, by its fingerprint, it has a head:
//
//	<prefix>/v1/<fingerprint>/head            the packs, a sequence number, a signature
//	<prefix>/v1/<fingerprint>/packs/<sha256>  a pack; it never changes
//	<prefix>/v1/<fingerprint>/lease           the process that compiles for all others
//
// Only the head changes. A reader checks its signature with the public keys that it was
// given, and installs packs whose digests the head has. This package has no network code:
// a scheme of URLs works once the package of its backend is imported.
//
//	file         fleet/file
//	http, https  fleet/http
//	s3           fleet/s3
//	oci          fleet/oci
package fleet
