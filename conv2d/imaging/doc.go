// Package imaging filters pictures with convolutions on the GPU.
//
// A picture is PNG or JPEG. Its red, green and blue are filtered as three images
// of one channel, its transparency is kept. Beyond the border the outermost
// pixels repeat, so that filters leave no frame. Every result is compared with
// the CPU reference before it is returned.
package imaging
