package binary

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

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
	dirForm    = oneOf(slices.Concat(dirFiles, []string{"README.md", "CACHEDIR.TAG"}))
	sourceForm = digitsThen(64, sourceExt)
	storeForm  = oneOf(storeFiles)
	shardForm  = digitsThen(2, "")
	blobForm   = digitsThen(64, blobExt)
	noteForm   = digitsThen(64, ".json")

	storeDirForms = map[string]form{
		blobsName: oneOf(nil), // it has directories only
		rejectedName: func(name string) bool {
			name = strings.TrimSuffix(name, reasonExt)
			return blobForm(name) || shardForm(name) || storeForm(name) || slices.Contains(storeDirs, name)
		},
		inFlightName: func(name string) bool {
			process, number, _ := strings.Cut(name, "-")
			return isOf(process, decimals) && isOf(number, decimals)
		},
		quarantineName: noteForm,
		failedName:     noteForm,
		tuningName:     noteForm,
		checkedName:    digitsThen(64, ""),
		pendingName:    digitsThen(32, pendingExt),
	}
)

// form reports whether a name is that of a file.
type form func(name string) bool

// temporary reports whether a name is that of a temporary file that becomes one of the form.
func (is form) temporary(name string) bool {
	file, hidden := strings.CutPrefix(name, ".")
	for end := len(file); hidden && end > 0 && isOf(file[end-1:], decimals); end-- {
		if is(file[:end-1]) {
			return true
		}
	}
	return false
}

func oneOf(names []string) form {
	return func(name string) bool { return slices.Contains(names, name) }
}

// digitsThen is the form of a number of hexadecimal digits and what follows them.
func digitsThen(number int, ext string) form {
	return func(name string) bool {
		digits, ok := strings.CutSuffix(name, ext)
		return ok && len(digits) == number && isOf(digits, decimals+"abcdef")
	}
}

const decimals = "0123456789"

// isOf reports whether a text has characters of a set, and no others.
func isOf(text, set string) bool { return text != "" && strings.Trim(text, set) == "" }

// storeDir is a directory of a store, and the form of the names of its files.
type storeDir struct {
	path  string
	form  form
	blobs bool
}

// dirs lists the directories in the directory of the store, each before the one that it
// is in. Links are not followed.
func (s *Store) dirs() []storeDir {
	var dirs []storeDir
	blobs := filepath.Join(s.path, blobsName)
	for _, shard := range shards(blobs) {
		dirs = append(dirs, storeDir{filepath.Join(blobs, shard.Name()), blobForm, true})
	}
	for _, name := range storeDirs {
		dirs = append(dirs, storeDir{filepath.Join(s.path, name), storeDirForms[name], false})
	}
	return append(dirs, storeDir{s.path, storeForm, false})
}

// shards lists the directories of two digits in a directory.
func shards(dir string) []fs.DirEntry {
	return slices.DeleteFunc(osfile.List(dir), func(e fs.DirEntry) bool {
		return !e.IsDir() || !shardForm(e.Name())
	})
}
