package servers

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"
	"testing"
)

// RegistryOptions change the registry.
type RegistryOptions struct {
	Auth          bool // RegistryUser with RegistryPassword, for all requests
	WithoutDelete bool
	Cache         bool   // it remembers which blobs it has, and their sizes, as that of Docker's image does
	Root          string // folder of the images; default: a temporary one
}

// The user of a registry with Auth. The hash is bcrypt's of the password.
const (
	RegistryUser     = "ci"
	RegistryPassword = "hunter22"
	registryHash     = "$2b$04$abcdefghijklmnopqrstuunBMgByaIAZYuFgMUjBx8aaeU/9We5xa"
)

// StartRegistry starts a registry of images, and returns the URL of a repository.
func StartRegistry(t testing.TB, o RegistryOptions) *url.URL {
	t.Helper()
	path := program(t, "docker-registry", "docker-registry")
	dir, address := t.TempDir(), freeAddress(t)
	config := fmt.Sprintf(registryConfig, cmp.Or(o.Root, folder(t, dir, "images")), !o.WithoutDelete, address)
	if o.Cache {
		config = strings.Replace(config, "storage: {", "storage: {cache: {blobdescriptor: inmemory}, ", 1)
	}
	if o.Auth {
		users := write(t, dir, "users", RegistryUser+":"+registryHash+"\n")
		config += fmt.Sprintf("auth: {htpasswd: {realm: test, path: %q}}\n", users)
	}
	run(t, dir, address, []string{"OTEL_TRACES_EXPORTER=none"}, path, "serve", write(t, dir, "config.yml", config))
	return &url.URL{Scheme: "oci", Host: address, Path: "/fleet/shaders"}
}

const registryConfig = `version: 0.1
log: {level: warn}
storage: {filesystem: {rootdirectory: %q}, delete: {enabled: %v}}
http: {addr: %q}
`
