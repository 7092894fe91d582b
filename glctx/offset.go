//go:build linux && cgo

package glctx

/*
#include <stdint.h>

typedef unsigned int uint;
typedef void (*sub_image_1d)(uint, int, int, int, uint, uint, const void *);
typedef void (*sub_image_2d)(uint, int, int, int, int, int, uint, uint, const void *);
typedef void (*sub_image_3d)(uint, int, int, int, int, int, int, int, uint, uint, const void *);
typedef void (*get_sub_image)(uint, int, int, int, int, int, int, int, uint, uint, int, void *);

static void sc_sub_image(void *f, int sides, uint texture, int level, int x, int y, int z, int w, int h, int d,
                         uint format, uint type, const void *memory, uintptr_t offset) {
  const void *pixels = memory ? memory : (const void *)offset;
  if (sides == 1)
    ((sub_image_1d)f)(texture, level, x, w, format, type, pixels);
  else if (sides == 2)
    ((sub_image_2d)f)(texture, level, x, y, w, h, format, type, pixels);
  else
    ((sub_image_3d)f)(texture, level, x, y, z, w, h, d, format, type, pixels);
}

static void sc_get_sub_image(void *f, uint texture, int level, int x, int y, int z, int w, int h, int d,
                             uint format, uint type, int n, void *memory, uintptr_t offset) {
  ((get_sub_image)f)(texture, level, x, y, z, w, h, d, format, type, n, memory ? memory : (void *)offset);
}
*/
import "C"

import (
	"unsafe"

	gl45 "github.com/go-gl/gl/v4.5-core/gl"
)

// With a buffer bound, GL takes an offset where it takes a pointer otherwise. A small
// number in an unsafe.Pointer makes Go's runtime throw, so these calls pass a uintptr.
var (
	subImage    [4]unsafe.Pointer // by the number of sides
	getSubImage unsafe.Pointer
)

// initCalls resolves all calls.
func initCalls(getProcAddr func(name string) unsafe.Pointer) error {
	if err := gl45.InitWithProcAddrFunc(getProcAddr); err != nil {
		return err
	}
	for i, name := range []string{"glTextureSubImage1D", "glTextureSubImage2D", "glTextureSubImage3D"} {
		subImage[i+1] = getProcAddr(name)
	}
	getSubImage = getProcAddr("glGetTextureSubImage")
	return nil
}

// textureSubImage is glTextureSubImage1D, 2D or 3D, by the number of sides, from memory, or where
// that is nil from an offset in the bound buffer.
func textureSubImage(sides int, texture uint32, level, x, y, z, w, h, d int32, format, xtype uint32, memory unsafe.Pointer, offset int) {
	C.sc_sub_image(subImage[sides], C.int(sides), C.uint(texture), C.int(level), C.int(x), C.int(y), C.int(z),
		C.int(w), C.int(h), C.int(d), C.uint(format), C.uint(xtype), memory, C.uintptr_t(offset))
}

// getTextureSubImage is glGetTextureSubImage to memory, or where that is nil to the bound buffer.
func getTextureSubImage(texture uint32, level, x, y, z, w, h, d int32, format, xtype uint32, n int32, memory unsafe.Pointer, offset int) {
	C.sc_get_sub_image(getSubImage, C.uint(texture), C.int(level), C.int(x), C.int(y), C.int(z),
		C.int(w), C.int(h), C.int(d), C.uint(format), C.uint(xtype), C.int(n), memory, C.uintptr_t(offset))
}
