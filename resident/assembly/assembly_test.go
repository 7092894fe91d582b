package assembly

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/shadercache/shadercache/shader"
)

func TestFilesAreReplacedAndAdded(t *testing.T) {
	files := fstest.MapFS{
		"main.comp": {Data: []byte("#version 450 core\n#include \"a.glsl\"\n#include \"b.glsl\"\n")},
		"a.glsl":    {Data: []byte("int a_of_the_files;\n")},
		"b.glsl":    {Data: []byte("int b_of_the_files;\n")},
	}
	source, err := Source("label", files, "main.comp", map[string]string{"a.glsl": "int a_of_the_user;\n"}, shader.Defines{"N": "3"})
	if err != nil {
		t.Fatal(err)
	}
	if source.Name() != "label" {
		t.Errorf("name %q", source.Name())
	}
	for text, want := range map[string]bool{"a_of_the_user": true, "a_of_the_files": false, "b_of_the_files": true, "#define N 3": true} {
		if strings.Contains(source.Text(), text) != want {
			t.Errorf("%q is there: %t\n%s", text, !want, source.Text())
		}
	}
	if got := strings.Join(source.Files(), " "); got != "main.comp a.glsl b.glsl" {
		t.Errorf("files %s", got)
	}
	delete(files, "b.glsl")
	_, err = Source("label", files, "main.comp", nil, nil)
	if err == nil || !strings.Contains(err.Error(), "b.glsl") {
		t.Errorf("error is %v", err)
	}
}
