// Package s3 keeps a remote in a bucket of a store that speaks S3. Importing it makes s3
// URLs work:
//
//	s3://bucket/prefix
//	s3://bucket/prefix?endpoint=https://host:9000&region=eu-central-1&path-style=1
//
//	endpoint    default: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, that of AWS
//	region      default: AWS_REGION, AWS_DEFAULT_REGION, us-east-1
//	path-style  1: the bucket is in the path, 0: in the host name; default: 0 for AWS and
//	            the like, else 1
//
// Heads are changed by compare-and-swap where the store honours If-Match and If-None-Match,
// which the package finds out by a probe before the first conditional write. Certificates
// are those of fleet/http.
package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"strings"

	"github.com/minio/minio-go/v7"

	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/fleet/internal/secret"
	"github.com/shadercache/shadercache/fleet/internal/web"
)

func init() { fleet.Register("s3", openURL) }

// backend is a bucket, or a folder of one. It is a probe.Store.
type backend struct {
	client    minio.Core
	transport *web.Transport
	bucket    string
	prefix    string // without a slash at its ends
	secrets   secret.Texts
}

// Connect asks whether the bucket exists, which also fetches credentials.
func (b *backend) Connect(ctx context.Context) error {
	return b.do(ctx, "connect", "", func(ctx context.Context) error {
		_, err := b.client.BucketExists(ctx, b.bucket)
		return err
	})
}

// Get opens an object from a byte on.
func (b *backend) Get(ctx context.Context, name string, first int64) (*fleet.Object, error) {
	var options minio.GetObjectOptions
	if first > 0 {
		options.Set("Range", web.RangeFrom(first))
	}
	var object *fleet.Object
	ctx, stop := context.WithCancel(ctx)
	err := b.ask(ctx, stop, "get", name, func(ctx context.Context) error {
		body, info, header, err := b.client.GetObject(ctx, b.bucket, b.key(name), options)
		if err != nil {
			return err
		}
		size := info.Size
		if first > 0 {
			if size, err = web.CheckRange(header, size, first); err != nil {
				return errors.Join(err, body.Close())
			}
		}
		clock, _ := http.ParseTime(header.Get("Date")) // zero = unknown
		failed := func(err error) error { return b.failed("read", name, err) }
		object = &fleet.Object{Body: &web.Body{ReadCloser: body, Failed: failed, Closed: stop}, Size: size, Tag: info.ETag, Clock: clock}
		return nil
	})
	if err != nil {
		stop()
	}
	return object, err
}

// Put writes an object, and sends a condition in any case.
func (b *backend) Put(ctx context.Context, name string, data io.ReadSeeker, o fleet.PutOptions) (string, error) {
	if _, err := data.Seek(0, io.SeekStart); err != nil {
		return "", b.failed("put", name, err)
	}
	options := minio.PutObjectOptions{ContentType: "application/octet-stream", DisableMultipart: true}
	if o.IfAbsent {
		options.SetMatchETagExcept("*")
	}
	if o.IfTag != "" {
		options.SetMatchETag(strings.Trim(o.IfTag, `"`))
	}
	upload := web.NewUpload(ctx, data, o.Size)
	defer upload.Detach()
	var tag string
	err := b.do(ctx, "put", name, func(ctx context.Context) error {
		info, err := b.client.PutObject(ctx, b.bucket, b.key(name), upload, o.Size, "", "", options)
		tag = info.ETag
		return err
	})
	if o.IfTag != "" && errors.Is(err, fleet.ErrNotFound) { // S3 answers 404 for If-Match
		err = fmt.Errorf("%w: %w", fleet.ErrChanged, err)
	}
	return tag, err
}

// Delete deletes an object.
func (b *backend) Delete(ctx context.Context, name string) error {
	err := b.do(ctx, "delete", name, func(ctx context.Context) error {
		return b.client.RemoveObject(ctx, b.bucket, b.key(name), minio.RemoveObjectOptions{})
	})
	if errors.Is(err, fleet.ErrNotFound) {
		return nil
	}
	return err
}

// maxObjects bounds a listing: a fleet has tens of drivers, with tens of packs each.
const maxObjects = 100_000

// List returns the objects below a folder.
func (b *backend) List(ctx context.Context, folder string) ([]fleet.Info, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var found []fleet.Info
	err := b.do(ctx, "list", folder, func(ctx context.Context) error {
		web.Listing(ctx)
		options := minio.ListObjectsOptions{Prefix: b.key(folder), Recursive: true}
		for o := range b.client.ListObjectsIter(ctx, b.bucket, options) {
			if o.Err != nil {
				return o.Err
			}
			name, ours := strings.CutPrefix(o.Key, b.key(""))
			if !ours || !strings.HasPrefix(name, folder) || len(found) >= maxObjects {
				return fmt.Errorf("%w: a listing with other names, or more than %d", fleet.ErrProtocol, maxObjects)
			}
			if !fs.ValidPath(name) {
				continue // that of a folder, which consoles make, or of others: a remote has no such object
			}
			found = append(found, fleet.Info{Name: name, Size: o.Size, Changed: o.LastModified})
		}
		return ctx.Err()
	})
	return found, err
}

// Close closes idle connections.
func (b *backend) Close() error {
	b.transport.CloseIdleConnections()
	return nil
}

// key returns the key of an object, or the start of the keys of a folder.
func (b *backend) key(name string) string {
	if b.prefix == "" {
		return name
	}
	return b.prefix + "/" + name
}

// do calls the client, and returns the error of the answer.
func (b *backend) do(ctx context.Context, what, name string, call func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	return b.ask(ctx, stop, what, name, call)
}

// ask is do with a context that lasts. stop ends it: with an error the client would wait
// before it gives up.
func (b *backend) ask(ctx context.Context, stop func(), what, name string, call func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return b.failed(what, name, fmt.Errorf("%w: %w", fleet.ErrUnreachable, err))
	}
	asked, outcome := web.WithOutcome(ctx)
	outcome.Stop = stop
	err := call(asked)
	switch {
	case err == nil:
		return nil
	case outcome.Err != nil:
		err = outcome.Err // the client's own error has lost it
	case ctx.Err() != nil:
		err = fmt.Errorf("%w: %w", fleet.ErrUnreachable, ctx.Err())
	case !web.Typed(err):
		err = fmt.Errorf("%w: %w", fleet.ErrProtocol, err)
	}
	return b.failed(what, name, err)
}

func (b *backend) failed(what, name string, err error) error {
	return b.secrets.Clean(fmt.Errorf("remote/s3: %s s3://%s: %w", what, path.Join(b.bucket, b.key(name)), err))
}

// maxErrorBytes bounds what is read of the body of an error.
const maxErrorBytes = 16 << 10

var errorCode = regexp.MustCompile(`<Code>([A-Za-z]{1,64})</Code>`)

// explain returns the error of an answer that S3 has a code for; nil for other answers.
func explain(response *http.Response) error {
	if response.StatusCode < 300 {
		return nil
	}
	if response.StatusCode < 400 {
		return fmt.Errorf("%w: status %d, the bucket is elsewhere (hint: is the region right?)", fleet.ErrProtocol, response.StatusCode)
	}
	data, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorBytes))
	if found := errorCode.FindSubmatch(data); found != nil && codes[string(found[1])] != nil {
		return codes[string(found[1])]
	}
	if response.StatusCode == http.StatusUnauthorized || response.StatusCode == http.StatusForbidden {
		return fmt.Errorf("%w: status %d (hint: credentials come from the URL, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile, or a role)",
			fleet.ErrDenied, response.StatusCode)
	}
	return nil
}

// codes are those whose status says less, or something else.
var codes = map[string]error{
	"ConditionalRequestConflict":   fleet.ErrChanged,
	"NotImplemented":               fmt.Errorf("%w: %w", fleet.ErrProtocol, errors.ErrUnsupported),
	"NoSuchBucket":                 fmt.Errorf("%w: no such bucket", fleet.ErrNotFound),
	"RequestTimeTooSkewed":         fmt.Errorf("%w: the clocks of this machine and the store differ (hint: set the clock)", fleet.ErrDenied),
	"SignatureDoesNotMatch":        fmt.Errorf("%w: the secret key is wrong", fleet.ErrDenied),
	"InvalidAccessKeyId":           fmt.Errorf("%w: the access key is unknown", fleet.ErrDenied),
	"XAdminUserNotFound":           fmt.Errorf("%w: the access key is unknown", fleet.ErrDenied), // of versitygw, with 404
	"ExpiredToken":                 fmt.Errorf("%w: the session token is too old", fleet.ErrDenied),
	"AuthorizationHeaderMalformed": fmt.Errorf("%w: the store refuses the signature (hint: is the region right?)", fleet.ErrProtocol),
}
