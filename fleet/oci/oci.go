// Package oci keeps a remote in a registry of container images. Importing it makes oci URLs
// work:
//
//	oci://registry/repository            tags are v1-<fingerprint>
//	oci://registry/repository:prefix     tags are prefix-v1-<fingerprint>
//	oci://registry/repository@sha256:... one head, which never changes; read-only
//
// Credentials are those of the URL, else of Docker's configuration (docker login), with its
// credential helpers. Plain HTTP is used for a registry on loopback, and with ?insecure=1.
// Certificates are those of fleet/http.
//
// A head is a manifest of artifact type application/vnd.shadercache.head.v1: its config is
// the object, its layers are the packs, so that the registry keeps these while the head
// refers to them. Registries do not compare and swap: the last of two writers wins, and
// package fleet then merges.
package oci

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	registry "oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/fleet/internal/secret"
	"github.com/shadercache/shadercache/fleet/internal/web"
)

func init() { fleet.Register("oci", openURL) }

// Types of a head's manifest and of its layers.
const (
	headType = "application/vnd.shadercache.head.v1"
	packType = "application/vnd.shadercache.pack.v1"
)

// nameAnnotation has the name of the object: a manifest that is pinned has no tag.
const nameAnnotation = "org.shadercache.name"

const (
	maxManifestBytes = 4 << 20 // as registries have it
	maxObjectBytes   = 4 << 20
	inlineBytes      = 64 << 10 // a smaller head is in the manifest too, which saves a request
)

// backend is a repository. It implements fleet.Backend.
type backend struct {
	repository *registry.Repository
	transport  *web.Transport
	prefix     string        // of tags
	pin        digest.Digest // "" = not pinned
	secrets    secret.Texts
}

var _ fleet.Backend = (*backend)(nil)

// Connect asks whether the registry speaks the protocol, which also fetches credentials.
func (b *backend) Connect(ctx context.Context) error {
	return b.do(ctx, "connect", "", func(ctx context.Context) error {
		_, err := b.repository.Manifests().Resolve(ctx, cmp.Or(b.pin.String(), b.tag("v1/connect")))
		if isMissing(err) {
			return nil
		}
		return err
	})
}

// Get opens an object: a pack is a blob, from a byte on, all others are manifests.
func (b *backend) Get(ctx context.Context, name string, first int64) (o *fleet.Object, err error) {
	pack, isPack := packDigest(name)
	if first > 0 && !isPack {
		return nil, b.failed("get", name, fmt.Errorf("%w: a head is read as a whole", errors.ErrUnsupported))
	}
	err = b.do(ctx, "get", name, func(ctx context.Context) error {
		if isPack {
			o, err = b.getPack(ctx, name, pack, first)
		} else {
			o, err = b.getHead(ctx, name)
		}
		return err
	})
	return o, err
}

func (b *backend) getPack(ctx context.Context, name string, pack digest.Digest, first int64) (*fleet.Object, error) {
	place := b.repository.Reference
	u := url.URL{Scheme: "https", Host: place.Host(), Path: "/v2/" + place.Repository + "/blobs/" + pack.String()}
	if b.repository.PlainHTTP {
		u.Scheme = "http"
	}
	ctx = auth.AppendRepositoryScope(ctx, place, auth.ActionPull)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	if first > 0 {
		request.Header.Set("Range", web.RangeFrom(first))
	}
	response, err := b.repository.Client.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= 300 { // a challenge to credentials that were sent, which Checked lets pass
		return nil, errors.Join(&errcode.ErrorResponse{Method: request.Method, URL: request.URL, StatusCode: response.StatusCode}, response.Body.Close())
	}
	size, err := web.CheckObject(response, first)
	if err != nil {
		return nil, errors.Join(err, response.Body.Close())
	}
	failed := func(err error) error { return b.failed("read", name, err) }
	return &fleet.Object{Body: &web.Body{ReadCloser: response.Body, Failed: failed}, Size: size, Tag: pack.String()}, nil
}

func (b *backend) getHead(ctx context.Context, name string) (*fleet.Object, error) {
	reference := cmp.Or(b.pin.String(), b.tag(name))
	about, body, err := b.repository.Manifests().FetchReference(ctx, reference)
	if err != nil {
		return nil, err
	}
	text, err := readAll(body, about, maxManifestBytes)
	if err != nil {
		return nil, err
	}
	var m ocispec.Manifest
	if json.Unmarshal(text, &m) != nil || m.Config.MediaType != headType || m.Config.Digest.Validate() != nil {
		return nil, fmt.Errorf("%w: the manifest is not that of a head", fleet.ErrProtocol)
	}
	if named := m.Annotations[nameAnnotation]; named != name {
		if b.pin != "" { // that of another driver
			return nil, fmt.Errorf("%w: the pinned manifest is another object", fleet.ErrNotFound)
		}
		return nil, fmt.Errorf("%w: the tag has another object", fleet.ErrProtocol)
	}
	data, err := b.config(ctx, m.Config)
	if err != nil {
		return nil, err
	}
	return &fleet.Object{
		Body: io.NopCloser(bytes.NewReader(data)), Size: int64(len(data)), Tag: about.Digest.String(), Clock: web.Clock(ctx),
	}, nil
}

// config returns the object of a manifest, from the manifest itself where it has it.
func (b *backend) config(ctx context.Context, about ocispec.Descriptor) ([]byte, error) {
	if int64(len(about.Data)) == about.Size && about.Digest == about.Digest.Algorithm().FromBytes(about.Data) {
		return about.Data, nil
	}
	body, err := b.repository.Blobs().Fetch(ctx, about)
	if err != nil {
		return nil, err
	}
	return readAll(body, about, maxObjectBytes)
}

// readAll reads content and checks it against its descriptor.
func readAll(body io.ReadCloser, about ocispec.Descriptor, limit int64) ([]byte, error) {
	defer body.Close()
	if about.Size > limit {
		return nil, fmt.Errorf("%w: %d bytes, and at most %d are possible", fleet.ErrProtocol, about.Size, limit)
	}
	data, err := content.ReadAll(&web.Body{ReadCloser: body, Failed: func(err error) error { return err }}, about)
	if err != nil && !web.Typed(err) {
		err = fmt.Errorf("%w: %w", fleet.ErrProtocol, err)
	}
	return data, err
}

// Put writes an object. Conditions are ignored: registries have none.
func (b *backend) Put(ctx context.Context, name string, data io.ReadSeeker, o fleet.PutOptions) (string, error) {
	if b.pin != "" {
		return "", b.failed("put", name, fmt.Errorf("%w: %w", fleet.ErrDenied, errPinned))
	}
	if _, err := data.Seek(0, io.SeekStart); err != nil {
		return "", b.failed("put", name, err)
	}
	tag := ""
	err := b.do(ctx, "put", name, func(ctx context.Context) (err error) {
		if pack, ok := packDigest(name); ok {
			tag = pack.String()
			return b.push(ctx, ocispec.Descriptor{MediaType: packType, Digest: pack, Size: o.Size}, data)
		}
		tag, err = b.putHead(ctx, name, data, o)
		return err
	})
	return tag, err
}

var errPinned = errors.New("a URL with a digest is read-only")

// push uploads a blob, whatever the registry says that it has: after a garbage collection one with
// a cache is wrong about it.
func (b *backend) push(ctx context.Context, about ocispec.Descriptor, data io.ReadSeeker) error {
	upload := web.NewUpload(ctx, data, about.Size)
	defer upload.Detach()
	return b.repository.Blobs().Push(ctx, about, upload)
}

func (b *backend) putHead(ctx context.Context, name string, from io.ReadSeeker, o fleet.PutOptions) (string, error) {
	data, err := io.ReadAll(io.LimitReader(from, maxObjectBytes+1))
	if err != nil {
		return "", err
	}
	if int64(len(data)) != o.Size || len(data) > maxObjectBytes {
		return "", fmt.Errorf("%d bytes of %d, and at most %d are possible", len(data), o.Size, maxObjectBytes)
	}
	config := content.NewDescriptorFromBytes(headType, data)
	if err := b.push(ctx, config, bytes.NewReader(data)); err != nil {
		return "", err
	}
	if len(data) <= inlineBytes {
		config.Data = data
	}
	for {
		text, err := json.Marshal(manifest(name, config, o))
		if err != nil {
			return "", err
		}
		about := content.NewDescriptorFromBytes(ocispec.MediaTypeImageManifest, text)
		err = b.repository.Manifests().PushReference(ctx, about, bytes.NewReader(text), b.tag(name))
		if !errors.Is(err, fleet.ErrProtocol) && !isMissing(err) {
			return about.Digest.String(), err
		}
		// A later list of keys has to reach a head with a pack that is lost, or never was there.
		there := slices.DeleteFunc(slices.Clone(o.Packs), func(p fleet.Pack) bool {
			_, err := b.repository.Blobs().Resolve(ctx, layer(p).Digest.String())
			return isMissing(err)
		})
		if len(there) == len(o.Packs) {
			return "", err
		}
		o.Packs = there
	}
}

func isMissing(err error) bool {
	return errors.Is(err, errdef.ErrNotFound) || errors.Is(err, fleet.ErrNotFound)
}

// layer describes a pack.
func layer(p fleet.Pack) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: packType, Size: p.Size, Digest: digest.NewDigestFromBytes(digest.SHA256, p.SHA256[:])}
}

// manifest returns that of a head.
func manifest(name string, config ocispec.Descriptor, o fleet.PutOptions) ocispec.Manifest {
	m := ocispec.Manifest{
		Versioned:    specs.Versioned{SchemaVersion: 2},
		MediaType:    ocispec.MediaTypeImageManifest,
		ArtifactType: headType,
		Config:       config,
		Layers:       []ocispec.Descriptor{},
		Annotations:  map[string]string{},
	}
	maps.Copy(m.Annotations, o.Annotations)
	m.Annotations[nameAnnotation] = name
	for _, p := range o.Packs {
		m.Layers = append(m.Layers, layer(p))
	}
	return m
}

// Delete deletes an object. It returns errors.ErrUnsupported, wrapped, where the registry
// does not delete.
func (b *backend) Delete(ctx context.Context, name string) error {
	if b.pin != "" {
		return b.failed("delete", name, fmt.Errorf("%w: %w", fleet.ErrDenied, errPinned))
	}
	err := b.do(ctx, "delete", name, func(ctx context.Context) error {
		if pack, ok := packDigest(name); ok {
			about, err := b.repository.Blobs().Resolve(ctx, pack.String())
			if err != nil {
				return err
			}
			return b.repository.Blobs().Delete(ctx, about)
		}
		about, err := b.repository.Manifests().Resolve(ctx, b.tag(name))
		if err != nil {
			return err
		}
		return b.repository.Manifests().Delete(ctx, about)
	})
	if errors.Is(err, fleet.ErrNotFound) {
		return nil
	}
	return err
}

// maxObjects bounds a listing: a fleet has tens of drivers.
const maxObjects = 100_000

// List returns the heads and the like below a folder, by their tags. Packs are no objects
// of their own: the registry deletes those that no manifest refers to. Sizes and times are
// unknown.
func (b *backend) List(ctx context.Context, folder string) ([]fleet.Info, error) {
	if b.pin != "" {
		return nil, b.failed("list", folder, fmt.Errorf("%w: %w", errors.ErrUnsupported, errPinned))
	}
	var found []fleet.Info
	err := b.do(ctx, "list", folder, func(ctx context.Context) error {
		web.Listing(ctx)
		return b.repository.Tags(ctx, "", func(tags []string) error {
			for _, tag := range tags {
				if name, ok := b.name(tag); ok && strings.HasPrefix(name, folder) {
					found = append(found, fleet.Info{Name: name, Size: -1})
				}
				if len(found) > maxObjects {
					return fmt.Errorf("%w: a listing of more than %d objects", fleet.ErrProtocol, maxObjects)
				}
			}
			return nil
		})
	})
	return found, err
}

// Abilities returns what a registry can do: none has conditions. Whether it deletes is seen
// when it is asked to. A probe would write a tag and delete it, and registries answer with
// errors to those who write at the same time.
func (b *backend) Abilities(context.Context) (fleet.Abilities, error) {
	if b.pin != "" {
		return fleet.Abilities{}, nil
	}
	return fleet.Abilities{List: true, Delete: true}, nil
}

// Close closes idle connections.
func (b *backend) Close() error {
	b.transport.CloseIdleConnections()
	return nil
}

// packDigest returns the digest of a pack's name.
func packDigest(name string) (digest.Digest, bool) {
	_, sum, ok := strings.Cut(name, "/packs/")
	return digest.NewDigestFromEncoded(digest.SHA256, sum), ok
}

// tag returns the tag of an object: v1/<fingerprint>/head is v1-<fingerprint>.
func (b *backend) tag(name string) string {
	tag := strings.ReplaceAll(strings.TrimSuffix(name, "/head"), "/", "-")
	if b.prefix != "" {
		return b.prefix + "-" + tag
	}
	return tag
}

// name returns the name of the object of a tag.
func (b *backend) name(tag string) (string, bool) {
	if b.prefix != "" {
		rest, ours := strings.CutPrefix(tag, b.prefix+"-")
		if !ours {
			return "", false
		}
		tag = rest
	}
	if tag == "v1-keys" {
		return "v1/keys", true
	}
	version, rest, ok := strings.Cut(tag, "-")
	fingerprint, last, more := strings.Cut(rest, "-")
	if !more {
		last = "head"
	}
	name := version + "/" + fingerprint + "/" + last
	_, notHex := hex.DecodeString(fingerprint)
	return name, ok && version == "v1" && (notHex == nil || fingerprint == "probe") && fs.ValidPath(name)
}

// do calls the client, and returns the error of the answer.
func (b *backend) do(ctx context.Context, what, name string, call func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return b.failed(what, name, fmt.Errorf("%w: %w", fleet.ErrUnreachable, err))
	}
	ctx, outcome := web.WithOutcome(ctx)
	err := call(ctx)
	if err == nil {
		return nil
	}
	if outcome.Err != nil && !web.Typed(err) {
		err = outcome.Err // the client's own error has lost it
	}
	return b.failed(what, name, meaning(ctx, err))
}

// meaning returns an error of the client as one of package fleet.
func meaning(ctx context.Context, err error) error {
	answer, answered := errors.AsType[*errcode.ErrorResponse](err)
	switch {
	case web.Typed(err):
		return err
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %w", fleet.ErrUnreachable, ctx.Err())
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: %w", fleet.ErrUnreachable, err)
	case errors.Is(err, auth.ErrBasicCredentialNotFound),
		answered && (answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden):
		return fmt.Errorf("%w: the registry refuses the credentials, or lacks them (hint: docker login)", fleet.ErrDenied)
	case errors.Is(err, errdef.ErrNotFound):
		return fmt.Errorf("%w: %w", fleet.ErrNotFound, err)
	case errors.Is(err, web.ErrRedirect):
		return fmt.Errorf("%w: the registry %w, which is not followed", fleet.ErrProtocol, web.ErrRedirect)
	}
	return fmt.Errorf("%w: %w", fleet.ErrProtocol, err)
}

func (b *backend) failed(what, name string, err error) error {
	return b.secrets.Clean(fmt.Errorf("remote/oci: %s %s in %s: %w", what, name, b.repository.Reference, err))
}
