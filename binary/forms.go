package binary

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/shadercache/shadercache/binary/internal/index"
	"github.com/shadercache/shadercache/internal/osfile"
)

// dirFiles are files of the cache directory, storeFiles and storeDirs the files and
// directories in the directory of a store. fingerprint.json is the last: it proves that the others are the store's.
var (
	dirFiles   = []string{statsName, starts.name, runs.name, histories.name, compiledName, zeroName, settingsName, lastTrimName, claimsName}
	storeFiles = []string{probeName, refusalsName, claimsName, index.Name, index.SumName, manifestName, fingerprintName}
	storeDirs  = []string{blobsName, rejectedName, inFlightName, quarantineName, failedName, checkedName, tuningName, pendingName}
)

// The names of files that this package makes. Only files with such a name are ever
// deleted: a user may keep files of other programs in the cache directory, and in a
// directory of a store.
//
//	directory                    files
//	<cache directory>            dirFiles, README.md, CACHEDIR.TAG
//	sources/<2 digits>           <key>.glsl.zst
//	<store>                      storeFiles
//	<store>/blobs/<2 digits>     <key>.bin
//	<store>/rejected             what was rejected, each with a .txt
//	<store>/inflight             <process>-<number>
//	<store>/quarantine, failed   <key>.json
//	<store>/tuning               <digest of the problem>.json
//	<store>/checked              <key>
//	<store>/pending              <32 digits>.json
//
// A temporary file has the name of the file that it becomes, between a dot and a number.
var (
	dirForm    = newForm(alternatives(slices.Concat(dirFiles, []string{"README.md", "CACHEDIR.TAG"})...))
	sourceForm = newForm(digits + regexp.QuoteMeta(sourceExt))
	storeForm  = newForm(alternatives(storeFiles...))
	blobForm   = newForm(digits + regexp.QuoteMeta(blobExt))
	noteForm   = newForm(digits + `\.json`)

	storeDirForms = map[string]*form{
		rejectedName: newForm(`(` + digits + regexp.QuoteMeta(blobExt) + `|[0-9a-f]{2}|` +
			alternatives(slices.Concat(storeFiles, storeDirs)...) + `)(` + regexp.QuoteMeta(reasonExt) + `)?`),
		inFlightName:   newForm(`[0-9]+-[0-9]+`),
		quarantineName: noteForm,
		failedName:     noteForm,
		tuningName:     noteForm,
		checkedName:    newForm(digits),
		pendingName:    newForm(`[0-9a-f]{32}` + regexp.QuoteMeta(pendingExt)),
	}
	shardForm = regexp.MustCompile(`^[0-9a-f]{2}$`)
)

const digits = `[0-9a-f]{64}`

// form is the form of the names of files, and of the temporary files that become them.
type form struct{ file, temporary pattern }

func newForm(name string) *form {
	return &form{newPattern(`^(` + name + `)$`), newPattern(`^\.(` + name + `)[0-9]+$`)}
}

// pattern is an expression that is compiled at its first use: a start that only reads
// programs needs none of them, and all together take 0.5 ms.
type pattern func() *regexp.Regexp

func newPattern(text string) pattern {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

func alternatives(names ...string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = regexp.QuoteMeta(name)
	}
	return strings.Join(quoted, "|")
}

// storeDir is a directory of a store, and the form of the names of its files.
type storeDir struct {
	path string
	form *form // nil: it has directories only
}

// dirs lists the directories in the directory of the store, each before the one that it
// is in. Links are not followed.
func (s *Store) dirs() []storeDir {
	var dirs []storeDir
	blobs := filepath.Join(s.path, blobsName)
	for _, shard := range shards(blobs) {
		dirs = append(dirs, storeDir{filepath.Join(blobs, shard.Name()), blobForm})
	}
	for _, name := range storeDirs {
		dirs = append(dirs, storeDir{filepath.Join(s.path, name), storeDirForms[name]})
	}
	return append(dirs, storeDir{s.path, storeForm})
}

// shards lists the directories of two digits in a directory.
func shards(dir string) []fs.DirEntry {
	return slices.DeleteFunc(osfile.List(dir), func(e fs.DirEntry) bool {
		return !e.IsDir() || !shardForm.MatchString(e.Name())
	})
}
