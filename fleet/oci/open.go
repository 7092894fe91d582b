package oci

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/opencontainers/go-digest"
	ref "oras.land/oras-go/v2/registry"
	registry "oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"

	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/fleet/internal/secret"
	"github.com/shadercache/shadercache/fleet/internal/web"
)

// openURL opens the backend for a URL. It returns an error for settings that cannot work. It
// does not use the network.
func openURL(u *url.URL, o fleet.BackendOptions) (fleet.Backend, error) {
	b, err := open(u, o.UserAgent, o.Getenv)
	if err != nil {
		return nil, fmt.Errorf("remote/oci: %w", err)
	}
	return b, nil
}

func open(u *url.URL, agent string, getenv func(string) string) (*backend, error) {
	b := &backend{}
	name, pin, pinned := strings.Cut(strings.Trim(u.Path, "/"), "@")
	name, b.prefix, _ = strings.Cut(name, ":")
	b.pin = digest.Digest(pin)
	repository, err := ref.ParseReference(u.Host + "/" + name)
	if err != nil || repository.ValidateRepository() != nil || pinned && b.pin.Validate() != nil || u.Fragment != "" {
		return nil, errors.New("the URL has to be like oci://registry/repository, with :prefix or @sha256:... at its end")
	}
	if tagged := (ref.Reference{Registry: u.Host, Repository: name, Reference: b.tag("v1/connect")}); tagged.ValidateReferenceAsTag() != nil || len(b.prefix) > 32 {
		return nil, errors.New("the prefix has to be the start of a tag, of at most 32 characters")
	}
	insecure, err := isInsecure(u)
	if err != nil {
		return nil, err
	}
	if b.transport, err = web.NewTransport(getenv); err != nil {
		return nil, err
	}
	find, err := findCredentials(u, repository.Host(), getenv, &b.secrets)
	if err != nil {
		return nil, err
	}
	b.repository = &registry.Repository{
		Reference:        ref.Reference{Registry: u.Host, Repository: name},
		PlainHTTP:        insecure,
		MaxMetadataBytes: maxManifestBytes,
		Client: &auth.Client{
			Client:     &http.Client{Transport: &web.Checked{Base: b.transport, Secrets: &b.secrets, Pass: passes, Refuse: refusesRealm(u.Hostname())}, CheckRedirect: redirects(insecure)},
			Header:     http.Header{"User-Agent": {agent}, "Accept-Encoding": {"identity"}},
			Cache:      auth.NewCache(),
			Credential: find,
		},
	}
	return b, nil
}

// isInsecure reports whether plain HTTP is used.
func isInsecure(u *url.URL) (bool, error) {
	for option, values := range u.Query() {
		if option != "insecure" || values[0] != "1" {
			return false, fmt.Errorf("unknown option %q of the URL (known: insecure=1)", option)
		}
	}
	ip := net.ParseIP(u.Hostname())
	return u.Query().Has("insecure") || u.Hostname() == "localhost" || ip != nil && ip.IsLoopback(), nil
}

// findCredentials returns those of the URL, else a function that reads Docker's.
func findCredentials(u *url.URL, host string, getenv func(string) string, secrets *secret.Texts) (auth.CredentialFunc, error) {
	if password, ok := u.User.Password(); ok {
		fixed := auth.Credential{Username: u.User.Username(), Password: password}
		secrets.Add(password)
		return auth.StaticCredential(host, fixed), nil
	}
	dir := cmp.Or(getenv("DOCKER_CONFIG"), filepath.Join(getenv("HOME"), ".docker"))
	config := filepath.Join(dir, "config.json")
	if err := secret.CheckFiles(config); err != nil {
		return nil, fmt.Errorf("credentials of Docker: %w", err)
	}
	store, err := credentials.NewStore(config, credentials.StoreOptions{})
	if err != nil {
		return nil, fmt.Errorf("credentials of Docker: %w", err)
	}
	find := credentials.Credential(store)
	return func(ctx context.Context, registry string) (auth.Credential, error) {
		found, err := find(ctx, registry)
		secrets.Add(found.RefreshToken) // in a body: the others are in headers
		return found, err
	}, nil
}

// passes reports whether the client needs an answer that is no success: a challenge, or a
// redirect.
func passes(response *http.Response) bool {
	challenge := response.StatusCode == http.StatusUnauthorized && response.Header.Get("WWW-Authenticate") != ""
	return challenge || response.StatusCode >= 300 && response.StatusCode < 400
}

// refusesRealm returns a function with the error of a request for a token by plain HTTP to
// another host than the registry's. The client itself refuses a realm of plain HTTP for a
// registry of HTTPS, and addresses of this machine and this network for one elsewhere. A
// request of a redirect is that of a blob, without credentials.
func refusesRealm(registry string) func(*http.Request) error {
	return func(r *http.Request) error {
		if r.URL.Scheme == "https" || r.Response != nil || strings.EqualFold(r.URL.Hostname(), registry) {
			return nil
		}
		return fmt.Errorf("%w: the registry asks for credentials at %s by plain HTTP: they go to no other host than its own so", fleet.ErrProtocol, r.URL.Host)
	}
}

// redirects returns a policy: registries redirect those who read a blob to another host,
// which gets no credentials, and is checked by the digest of the blob. A request for a token
// may have the path of a blob as well, and has a query.
func redirects(insecure bool) func(*http.Request, []*http.Request) error {
	return func(next *http.Request, via []*http.Request) error {
		first := via[0]
		blob := first.Method == http.MethodGet && strings.Contains(first.URL.Path, "/blobs/sha256:") && first.URL.RawQuery == ""
		if !blob || len(via) > 3 || next.URL.Scheme != "https" && !insecure {
			return web.SameHost(next, via)
		}
		if next.URL.Host != first.URL.Host {
			next.Header.Del("Authorization")
		}
		return nil
	}
}
