"""Filters a picture through an image of a running `shadercache serve`: python3 example_image.py"""
import sys

import shadercache

# Each texel becomes the middle of itself and its neighbour to the right, times a tint.
GLSL = """
layout(local_size_x = 8, local_size_y = 8) in;
layout(rgba8ui) readonly uniform uimage2D picture;
layout(rgba8ui) writeonly uniform uimage2D filtered;
uniform uvec4 tint;
void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy), next = ivec2(min(at.x + 1, imageSize(picture).x - 1), at.y);
    imageStore(filtered, at, (imageLoad(picture, at) + imageLoad(picture, next)) / 2u * tint / 255u);
}
"""
WIDTH, HEIGHT = 32, 32
TINT = (255, 128, 64, 255)


def main() -> int:
    pixels = bytes((x * 8 + y * c) % 256 for y in range(HEIGHT) for x in range(WIDTH) for c in range(4))
    try:
        with shadercache.connect() as gpu:
            program = gpu.program(GLSL, name="filter")
            picture = gpu.texture(WIDTH, HEIGHT, "rgba8ui")
            filtered = gpu.texture(WIDTH, HEIGHT, "rgba8ui")
            picture.write(pixels)
            tint = [shadercache.uint(t) for t in TINT]
            program.run(
                (WIDTH // 8, HEIGHT // 8),
                images={"picture": picture, "filtered": filtered},
                uniforms={"tint": tint},
            )
            result = filtered.read(len(pixels))
            wrong = 0
            for i in range(0, len(pixels), 4):
                right = i if i // 4 % WIDTH == WIDTH - 1 else i + 4
                want = [(pixels[i + c] + pixels[right + c]) // 2 * TINT[c] // 255 for c in range(4)]
                wrong += list(result[i : i + 4]) != want
            print(f"{gpu.device}: {wrong} of {WIDTH * HEIGHT} wrong")
    except shadercache.Error as e:
        print("example:", e, file=sys.stderr)
        return 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
