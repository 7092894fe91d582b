package http

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/fleet/internal/web"
)

// What a listing may have: a fleet has tens of drivers, with tens of packs each. A driver has two
// folders, which web servers keep when it is pruned: there is room for as many of those as a
// listing may have drivers.
const (
	maxIndexBytes   = 4 << 20
	maxIndexDepth   = 4
	maxIndexNames   = 100_000
	maxIndexFolders = 4000
)

// indexEntry is an entry of nginx's autoindex_format json.
type indexEntry struct {
	Name    string `json:"name"`
	Type    string `json:"type"` // file, directory
	Changed string `json:"mtime"`
	Size    int64  `json:"size"`
}

// List returns the objects below a folder, from the server's JSON index. It returns
// errors.ErrUnsupported, wrapped, for a server that has none, and fleet.ErrNotFound where
// that cannot be known, since there is no such folder.
func (b *backend) List(ctx context.Context, folder string) ([]fleet.Info, error) {
	l := listing{backend: b}
	err := l.walk(ctx, folder, maxIndexDepth)
	return l.found, err
}

// listing is one call of List.
type listing struct {
	*backend
	found   []fleet.Info
	folders int // that were read
	bytes   int
}

func (l *listing) walk(ctx context.Context, folder string, depth int) error {
	if l.folders++; l.folders > maxIndexFolders || l.bytes > web.MaxListingBytes {
		return l.refuse(folder, "an index of more than %d folders, or %d bytes", maxIndexFolders, web.MaxListingBytes)
	}
	entries, err := l.index(ctx, folder)
	if errors.Is(err, fleet.ErrNotFound) && depth < maxIndexDepth { // deleted meanwhile, or once the server's fault
		if entries, err = l.index(ctx, folder); errors.Is(err, fleet.ErrNotFound) {
			return nil
		}
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch {
		case !fs.ValidPath(e.Name) || strings.Contains(e.Name, "/") || e.Name == ".":
			return l.refuse(folder, "an index with a name that is none")
		case e.Size < 0:
			return l.refuse(folder, "an index with a size of %d bytes", e.Size)
		case len(l.found) >= maxIndexNames:
			return l.refuse(folder, "an index of more than %d objects", maxIndexNames)
		case e.Type == "directory" && depth > 1:
			if err := l.walk(ctx, folder+e.Name+"/", depth-1); err != nil {
				return err
			}
		case e.Type == "file":
			changed, _ := http.ParseTime(e.Changed) // zero = unknown
			l.found = append(l.found, fleet.Info{Name: folder + e.Name, Size: e.Size, Changed: changed})
		}
	}
	return nil
}

// refuse returns an error for an index of a folder that no server of packs gives.
func (l *listing) refuse(folder, format string, args ...any) error {
	return l.failed(http.MethodGet, folder, fmt.Errorf("%w: "+format, append([]any{fleet.ErrProtocol}, args...)...))
}

// index reads the index of one folder.
func (l *listing) index(ctx context.Context, folder string) ([]indexEntry, error) {
	response, err := l.send(ctx, http.MethodGet, folder, nil, nil)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	fleet.Answered(ctx)
	if err := checkIndex(response); err != nil {
		return nil, l.failed(http.MethodGet, folder, err)
	}
	var entries []indexEntry
	data, err := io.ReadAll(io.LimitReader(response.Body, maxIndexBytes)) // a longer one is cut, and no JSON
	l.bytes += len(data)
	if err != nil {
		return nil, l.failed(http.MethodGet, folder, web.Unreachable(err))
	}
	if json.Unmarshal(data, &entries) != nil {
		return nil, l.failed(http.MethodGet, folder, errNoIndex)
	}
	return entries, nil
}

var errNoIndex = fmt.Errorf("%w: the server gives no index (hint: autoindex_format json of nginx)", errors.ErrUnsupported)

// checkIndex tells a server that has no index, which answers 403, 404 or a page for people,
// from one that fails.
func checkIndex(response *http.Response) error {
	json := strings.HasPrefix(response.Header.Get("Content-Type"), "application/json")
	switch response.StatusCode {
	case http.StatusOK:
		if !json {
			return errNoIndex
		}
	case http.StatusForbidden, http.StatusBadRequest:
		return errNoIndex
	}
	return web.CheckStatus(response, time.Now())
}
