// Package schemes has the remotes that a command takes, by the schemes of their URLs.
package schemes

import (
	_ "github.com/shadercache/shadercache/fleet/file" // file: URLs
	_ "github.com/shadercache/shadercache/fleet/http" // http: and https: URLs
	_ "github.com/shadercache/shadercache/fleet/oci"  // oci: URLs
	_ "github.com/shadercache/shadercache/fleet/s3"   // s3: URLs
)
