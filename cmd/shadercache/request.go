package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/shader"
)

// kernelExt is how names of kernel files end.
const kernelExt = ".comp"

// request is one program that somebody asked for, or the reason why it cannot
// even be tried.
type request struct {
	name   string
	source *shader.Source
	err    error
}

// readRequests expands the arguments of preload:
//
//	conv2d_3x3      a built-in name, unless a file has it
//	blur.comp       a GLSL compute file
//	kernels/        every .comp file below a folder
//	manifest.json   a list of programs, see manifestFile
//
// An argument that makes no sense costs that argument.
func readRequests(args []string, defines shader.Defines) []request {
	var all []request
	for _, arg := range args {
		all = append(all, readArgument(arg, defines)...)
	}
	return all
}

func readArgument(arg string, defines shader.Defines) []request {
	info, err := os.Stat(arg)
	switch {
	case err != nil && slices.Contains(conv2d.BuiltinNames(), arg):
		return []request{builtinRequest(arg)}
	case errors.Is(err, fs.ErrNotExist):
		err := fmt.Errorf("there is no such file, folder or built-in program (%s)",
			strings.Join(conv2d.BuiltinNames(), ", "))
		return []request{{name: arg, err: err}}
	case err != nil:
		return []request{{name: arg, err: err}}
	case info.IsDir():
		return readFolder(arg, defines)
	case filepath.Ext(arg) == ".json":
		return readManifest(arg, defines)
	}
	return []request{fileRequest("", arg, defines)}
}

func builtinRequest(name string) request {
	source, err := conv2d.Builtin(name)
	return request{name, source, err}
}

// fileRequest reads one kernel file. Its name is that of the file unless given.
func fileRequest(name, file string, defines shader.Defines) request {
	root, below := splitRoot(file)
	source, err := shader.ReadSource(os.DirFS(root), below, defines)
	if name == "" {
		name = strings.TrimSuffix(filepath.Base(file), kernelExt)
	}
	if err == nil {
		source = source.WithName(name)
	}
	return request{name, source, err}
}

// splitRoot chooses the folder that includes may reach: the working directory
// for what is below it, so that messages show short names, else the whole disk.
func splitRoot(file string) (root, below string) {
	absolute, err := filepath.Abs(file)
	if err != nil {
		return ".", filepath.ToSlash(file)
	}
	if here, err := filepath.Abs("."); err == nil {
		if short, err := filepath.Rel(here, absolute); err == nil && filepath.IsLocal(short) {
			return here, filepath.ToSlash(short)
		}
	}
	return "/", strings.TrimPrefix(filepath.ToSlash(absolute), "/")
}

func readFolder(folder string, defines shader.Defines) []request {
	var found []request
	err := filepath.WalkDir(folder, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			found = append(found, request{name: file, err: err})
			return nil
		}
		if !d.IsDir() && filepath.Ext(file) == kernelExt {
			found = append(found, fileRequest("", file, defines))
		}
		return nil
	})
	if err != nil {
		return append(found, request{name: folder, err: err})
	}
	if len(found) == 0 {
		return []request{{name: folder, err: fmt.Errorf("the folder holds no %s files", kernelExt)}}
	}
	return found
}

// manifestFile lists programs to preload. Files are relative to the manifest; a
// program without a file is a built-in name. Defines on the command line win.
type manifestFile struct {
	Programs []struct {
		Name    string         `json:"name"`
		File    string         `json:"file"`
		Defines shader.Defines `json:"defines"`
	} `json:"programs"`
}

func readManifest(file string, defines shader.Defines) []request {
	var m manifestFile
	if err := decodeFile(file, &m); err != nil {
		return []request{{name: file, err: fmt.Errorf("not a manifest: %w", err)}}
	}
	if len(m.Programs) == 0 {
		return []request{{name: file, err: errors.New(`the manifest lists no programs: {"programs":[{"name","file","defines"}]}`)}}
	}
	requests := make([]request, 0, len(m.Programs))
	for _, p := range m.Programs {
		if p.File == "" {
			requests = append(requests, builtinRequest(p.Name))
			continue
		}
		all := shader.Defines{}
		for _, set := range []shader.Defines{p.Defines, defines} {
			for name, value := range set {
				all[name] = value
			}
		}
		requests = append(requests, fileRequest(p.Name, beside(file, p.File), all))
	}
	return requests
}

// beside is a file that another file names.
func beside(file, named string) string {
	if filepath.IsAbs(named) {
		return named
	}
	return filepath.Join(filepath.Dir(file), filepath.FromSlash(named))
}

// decodeFile reads a JSON file strictly: a misspelt field is an error and not a
// default.
func decodeFile(file string, v any) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	d := json.NewDecoder(f)
	d.DisallowUnknownFields()
	return d.Decode(v)
}
