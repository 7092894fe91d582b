package s3

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/minio/minio-go/v7"

	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/fleet/internal/probe"
	"github.com/shadercache/shadercache/fleet/internal/secret"
	"github.com/shadercache/shadercache/fleet/internal/web"
)

// settings are those of a URL and the environment.
type settings struct {
	endpoint *url.URL
	region   string
	lookup   minio.BucketLookupType
}

// openURL opens the backend for a URL. It returns an error for settings that cannot work. It
// does not use the network: credentials of an instance's role are fetched by the first
// request.
func openURL(u *url.URL, o fleet.BackendOptions) (fleet.Backend, error) {
	b, err := open(u, o.UserAgent, o.Getenv)
	if err != nil {
		return nil, fmt.Errorf("remote/s3: %w", err)
	}
	return probe.Backend(b), nil
}

func open(u *url.URL, agent string, getenv func(string) string) (*backend, error) {
	if u.Host == "" || u.Fragment != "" {
		return nil, errors.New("the URL has to be like s3://bucket/prefix")
	}
	s, err := readSettings(u.Query(), getenv)
	if err != nil {
		return nil, err
	}
	transport, err := web.NewTransport(getenv)
	if err != nil {
		return nil, err
	}
	aws := filepath.Join(getenv("HOME"), ".aws")
	if err = secret.CheckFiles(getenv("AWS_SHARED_CREDENTIALS_FILE"), getenv("AWS_CONFIG_FILE"),
		filepath.Join(aws, "credentials"), filepath.Join(aws, "config")); err != nil {
		return nil, err
	}
	b := &backend{transport: transport, bucket: u.Host, prefix: strings.Trim(u.Path, "/")}
	client, err := minio.New(s.endpoint.Host, &minio.Options{
		Creds:        findCredentials(u, getenv, transport, &b.secrets),
		Secure:       s.endpoint.Scheme == "https",
		Transport:    &web.Checked{Base: transport, Secrets: &b.secrets, Explain: explain},
		Region:       s.region,
		BucketLookup: s.lookup,
		MaxRetries:   1,
	})
	if err != nil {
		return nil, err
	}
	if name, version, ok := strings.Cut(agent, "/"); ok {
		client.SetAppInfo(name, version)
	}
	b.client = minio.Core{Client: client}
	return b, nil
}

func readSettings(query url.Values, getenv func(string) string) (s settings, err error) {
	for name := range query {
		if name != "endpoint" && name != "region" && name != "path-style" {
			return s, fmt.Errorf("unknown option %q of the URL (known: endpoint, region, path-style)", name)
		}
	}
	s.region = cmp.Or(query.Get("region"), getenv("AWS_REGION"), getenv("AWS_DEFAULT_REGION"), "us-east-1")
	endpoint := cmp.Or(query.Get("endpoint"), getenv("AWS_ENDPOINT_URL_S3"), getenv("AWS_ENDPOINT_URL"), "https://s3.amazonaws.com")
	s.endpoint, err = url.Parse(endpoint)
	if err != nil || s.endpoint.Host == "" || s.endpoint.Scheme != "https" && s.endpoint.Scheme != "http" ||
		strings.Trim(s.endpoint.Path, "/") != "" || s.endpoint.User != nil {
		return s, errors.New("the endpoint has to be like https://host:9000")
	}
	switch style := query.Get("path-style"); style {
	case "":
		s.lookup = minio.BucketLookupAuto
	case "1", "true":
		s.lookup = minio.BucketLookupPath
	case "0", "false":
		s.lookup = minio.BucketLookupDNS
	default:
		return s, fmt.Errorf("path-style=%s has to be 0 or 1", style)
	}
	return s, nil
}
