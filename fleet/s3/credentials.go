package s3

import (
	"cmp"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/shadercache/shadercache/fleet/internal/secret"
)

// findCredentials returns the first of these that is there, as AWS's own programs do:
//
//	user and password of the URL
//	AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN
//	AWS_SHARED_CREDENTIALS_FILE, else ~/.aws/credentials, with AWS_PROFILE
//	the role of a container, or of an instance
//
// Without any, requests are anonymous: enough for a bucket that all may read.
func findCredentials(u *url.URL, getenv func(string) string, transport http.RoundTripper, secrets *secret.Texts) *credentials.Credentials {
	fixed := credentials.Value{
		AccessKeyID: getenv("AWS_ACCESS_KEY_ID"), SecretAccessKey: getenv("AWS_SECRET_ACCESS_KEY"),
		SessionToken: getenv("AWS_SESSION_TOKEN"),
	}
	if password, ok := u.User.Password(); ok {
		fixed = credentials.Value{AccessKeyID: u.User.Username(), SecretAccessKey: password}
	}
	if fixed.AccessKeyID != "" && fixed.SecretAccessKey != "" {
		fixed.SignerType = credentials.SignatureV4
		secrets.Add(fixed.SecretAccessKey, fixed.SessionToken)
		return credentials.New(&credentials.Static{Value: fixed})
	}
	providers := []credentials.Provider{
		&credentials.FileAWSCredentials{Filename: getenv("AWS_SHARED_CREDENTIALS_FILE"), Profile: getenv("AWS_PROFILE")},
	}
	if hasRole(getenv, amazonVendor) {
		providers = append(providers, role(getenv, transport))
	}
	return credentials.New(&chain{Chain: credentials.Chain{Providers: providers}})
}

// chain is a chain of providers that is not asked for a minute after it had nothing twice: a metadata
// service that does not answer would hold each request up. Once may be that service's fault.
type chain struct {
	credentials.Chain
	misses int
	missed time.Time
}

func (c *chain) IsExpired() bool {
	return c.Chain.IsExpired() && (c.misses < 2 || time.Since(c.missed) > time.Minute)
}

func (c *chain) RetrieveWithCredContext(cc *credentials.CredContext) (credentials.Value, error) {
	value, err := c.Chain.RetrieveWithCredContext(cc)
	if c.misses, c.missed = c.misses+1, time.Now(); value.AccessKeyID != "" {
		c.misses = 0
	}
	return value, err
}

// amazonVendor is the file that names the maker of this machine.
const amazonVendor = "/sys/class/dmi/id/sys_vendor"

// namesRole reports whether the environment names who gives the credentials of a role.
func namesRole(getenv func(string) string) bool {
	return cmp.Or(getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"), getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI"), getenv("AWS_WEB_IDENTITY_TOKEN_FILE")) != ""
}

// hasRole reports whether this machine may have a metadata service. Elsewhere its address
// does not answer, and each start would wait for that.
func hasRole(getenv func(string) string, vendorFile string) bool {
	if namesRole(getenv) || getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT") != "" {
		return true
	}
	if strings.EqualFold(getenv("AWS_EC2_METADATA_DISABLED"), "true") {
		return false
	}
	vendor, err := os.ReadFile(vendorFile)
	return err == nil && strings.HasPrefix(string(vendor), "Amazon")
}

// roleTimeout bounds each request to a metadata service, which is on the same machine, or
// next to it; tokenTimeout those to where a token is exchanged, which is as far as a store.
const (
	roleTimeout  = time.Second
	tokenTimeout = 5 * time.Second
)

// short cuts bodies that are longer than any credentials, which the library would read to their end.
type short struct{ http.RoundTripper }

const maxRoleBytes = 1 << 20

func (s short) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := s.RoundTripper.RoundTrip(r)
	if err == nil {
		response.Body = http.MaxBytesReader(nil, response.Body, maxRoleBytes)
	}
	return response, err
}

// role asks who the environment names, which the library reads itself, else the metadata service.
// A token is exchanged by the transport of stores, with its proxy and certificates.
func role(getenv func(string) string, transport http.RoundTripper) *credentials.IAM {
	iam := &credentials.IAM{Client: &http.Client{
		Timeout:       roleTimeout,
		Transport:     short{&http.Transport{DialContext: (&net.Dialer{Timeout: roleTimeout / 4}).DialContext}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // the token is not for others
	}}
	if getenv("AWS_WEB_IDENTITY_TOKEN_FILE") != "" {
		iam.Client.Transport, iam.Client.Timeout = short{transport}, tokenTimeout
	}
	if !namesRole(getenv) {
		iam.Endpoint = getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT")
	}
	return iam
}
