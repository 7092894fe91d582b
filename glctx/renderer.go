package glctx

import (
	"regexp"
	"strings"
)

// amdRenderer matches what Mesa's AMD drivers report: a name, and in parentheses a list
// with the kernel in it, of which "DRM" has the interface and the field after it the
// version.
//
//	AMD Radeon RX 7900 XTX (radeonsi, navi31, LLVM 19.1.7, DRM 3.49, 6.18.44)   from Mesa 23
//	Radeon RX 580 Series (POLARIS10, DRM 3.40.0, 5.10.0-8-amd64, LLVM 11.0.1)   before
//	AMD CEDAR (DRM 2.50.0 / 5.4.0)                                              r600
var amdRenderer = regexp.MustCompile(`((?:AMD|Radeon)[^()]*(?:\(TM\)[^()]*)?) \(([^()]*)DRM [0-9.]+(?:(?:, | / )[0-9][^,()]*)?([^()]*)\)`)

// rendererID returns what of a driver's GL_RENDERER identifies the code that it makes: for
// AMD's GPUs the chip and the compiler, without the name of the card and the version of
// the kernel, as in Mesa's own cache; else the text itself.
func rendererID(text string) string {
	return amdRenderer.ReplaceAllStringFunc(text, func(amd string) string {
		part := amdRenderer.FindStringSubmatch(amd)
		name, chip := strings.TrimSpace(part[1]), ""
		var compiler []string
		for _, field := range strings.FieldsFunc(part[2]+","+part[3], func(r rune) bool { return r == ',' || r == '/' }) {
			switch field = strings.TrimSpace(field); {
			case field == "", strings.EqualFold(field, "radeonsi"):
			case strings.HasPrefix(field, "LLVM "), field == "ACO":
				compiler = append(compiler, field)
			default:
				chip = strings.ToLower(field)
			}
		}
		if chip != "" {
			name, compiler = "AMD "+chip, append([]string{"radeonsi"}, compiler...)
		}
		if len(compiler) == 0 {
			return name
		}
		return name + " (" + strings.Join(compiler, ", ") + ")"
	})
}
