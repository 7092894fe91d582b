package servers

import (
	_ "embed"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
)

// NginxSite is the example of docs/remotes.md: nginx with DAV and TLS, which all may read
// and some may write.
//
//go:embed nginx.conf
var NginxSite string

// NginxOptions change the example.
type NginxOptions struct {
	TLS           *Certificates // nil = plain HTTP
	ClientCert    bool          // clients have to show a certificate
	User          string        // of those who write; "" = all may write
	Password      string
	ReadersToo    bool // only the user may read
	WithoutIndex  bool
	WithoutWrites bool
}

// Nginx is a running nginx.
type Nginx struct {
	URL    *url.URL // without credentials
	Root   string   // folder of the objects
	access string
}

// StartNginx starts nginx with the example's configuration.
func StartNginx(t testing.TB, o NginxOptions) *Nginx {
	t.Helper()
	path := program(t, "nginx", "nginx")
	dir, address := t.TempDir(), freeAddress(t)
	n := &Nginx{
		URL:    &url.URL{Scheme: "http", Host: address, Path: "/cache"},
		Root:   folder(t, dir, "root"),
		access: filepath.Join(dir, "access.log"),
	}
	if o.TLS != nil {
		n.URL.Scheme = "https"
	}
	folder(t, dir, "incoming")
	write(t, dir, "writers", o.User+":{PLAIN}"+o.Password+"\n")
	write(t, dir, "site.conf", site(dir, address, o))
	write(t, dir, "main.conf", strings.ReplaceAll(nginxMain, "DIR", dir))
	run(t, dir, address, nil, path, "-e", filepath.Join(dir, "error.log"), "-c", filepath.Join(dir, "main.conf"))
	return n
}

// nginxMain is what a package's nginx.conf has, for one process and a folder of its own.
const nginxMain = `daemon off;
master_process off;
pid DIR/nginx.pid;
error_log DIR/error.log;
events { worker_connections 256; }
http {
	access_log DIR/access.log;
	proxy_temp_path DIR/proxy;
	fastcgi_temp_path DIR/fastcgi;
	uwsgi_temp_path DIR/uwsgi;
	scgi_temp_path DIR/scgi;
	include DIR/site.conf;
}
`

// site returns the example with the paths and settings of a test.
func site(dir, address string, o NginxOptions) string {
	const certificate, key = "/etc/shadercache/server.pem", "/etc/shadercache/server.key"
	edits := []string{"listen 443", "listen " + address,
		"/srv/shadercache-incoming", filepath.Join(dir, "incoming"),
		"/srv/shadercache", filepath.Join(dir, "root"),
		"/etc/shadercache/writers", filepath.Join(dir, "writers")}
	if o.TLS == nil {
		edits = append(edits, " ssl http2", "",
			"ssl_certificate     "+certificate+";", "", "ssl_certificate_key "+key+";", "")
	} else {
		more := ";"
		if o.ClientCert {
			more = ";\n    ssl_verify_client on;\n    ssl_client_certificate " + o.TLS.CA + ";"
		}
		edits = append(edits, certificate, o.TLS.ServerCert, key+";", o.TLS.ServerKey+more)
	}
	if o.User == "" {
		edits = append(edits, "auth_basic shadercache;", "", "auth_basic_user_file /etc/shadercache/writers;", "")
	}
	if o.ReadersToo {
		edits = append(edits, "limit_except GET {", "limit_except OPTIONS {")
	}
	if o.WithoutIndex {
		edits = append(edits, "autoindex on;", "")
	}
	if o.WithoutWrites {
		edits = append(edits, "dav_methods PUT DELETE;", "")
	}
	return edited(NginxSite, edits)
}

// edited replaces pairs of texts. The longest that fit come first, as strings.Replacer has
// them in order of arguments.
func edited(text string, pairs []string) string {
	return strings.NewReplacer(pairs...).Replace(text)
}
