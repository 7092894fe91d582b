// Measures what the programs of `shadercache bench startup` cost in CUDA: the same matrix
// product in the same 48 variants, each a cubin in a file, from the start of the process
// to 48 verified results. It needs an NVIDIA GPU, and nvcc of CUDA 11 or newer. The file
// holds both sides: with -DKERNEL the kernel, for each variant, else the host's.
//
//   nvcc -arch=native -cubin -DKERNEL -DTILE=32 -DACTIVATION=0 -DSCALE=1 -o DIR/0.cubin startup.cu
//   nvcc -O2 -o startup-cuda startup.cu -lcuda && ./startup-cuda DIR
//
// DIR/I.cubin is the variant with tile I % 3, activation I / 3 % 4 and scale I / 12 + 1.
// $SHADERCACHE_BENCH_STARTED is when the process was started, in nanoseconds since 1970;
// without it, the time of main. It prints one line. The exit code is 1 where a result is
// wrong or there is no such GPU.

#ifdef KERNEL

constexpr int depth = 16, localY = 16, vectors = TILE / 4, rows = TILE / localY;

__device__ float activate(float x) {
#if ACTIVATION == 1
    return x < 0.0f ? 0.0f : x;
#elif ACTIVATION == 2
    float e = __expf(-2.0f * fabsf(x)), y = (1.0f - e) / (1.0f + e);
    return x < 0.0f ? -y : y;
#elif ACTIVATION == 3
    return x / (1.0f + __expf(-x));
#else
    return x;
#endif
}

extern "C" __global__ void product(const float *a, const float *b, float *c, int m, int n, int k) {
    __shared__ float tileA[depth][TILE + 1];
    __shared__ float4 tileB[depth][vectors];
    int row0 = blockIdx.y * TILE, column0 = blockIdx.x * TILE;
    int self = threadIdx.y * vectors + threadIdx.x;
    float4 sum[rows] = {};
    for (int step = 0; step < k; step += depth) {
        for (int i = self; i < TILE * depth; i += vectors * localY) {
            int row = row0 + i / depth, at = step + i % depth;
            tileA[i % depth][i / depth] = row < m && at < k ? a[row * k + at] : 0.0f;
        }
        for (int i = self; i < vectors * depth; i += vectors * localY) {
            int column = column0 + i % vectors * 4, at = step + i / vectors;
            float v[4];
            for (int j = 0; j < 4; ++j) {
                v[j] = at < k && column + j < n ? b[at * n + column + j] : 0.0f;
            }
            tileB[i / vectors][i % vectors] = make_float4(v[0], v[1], v[2], v[3]);
        }
        __syncthreads();
        for (int d = 0; d < depth; ++d) {
            float4 y = tileB[d][threadIdx.x];
            for (int i = 0; i < rows; ++i) {
                float x = tileA[d][threadIdx.y + i * localY];
                sum[i].x += x * y.x, sum[i].y += x * y.y, sum[i].z += x * y.z, sum[i].w += x * y.w;
            }
        }
        __syncthreads();
    }
    for (int i = 0; i < rows; ++i) {
        int row = row0 + threadIdx.y + i * localY;
        float v[4] = {sum[i].x, sum[i].y, sum[i].z, sum[i].w};
        for (int j = 0; j < 4; ++j) {
            int column = column0 + threadIdx.x * 4 + j;
            if (row < m && column < n) {
                c[row * n + column] = activate(float(SCALE) * v[j]);
            }
        }
    }
}

#else

#include <cstdio>
#include <string>
#include <vector>

#include <cuda.h>

#include "startup.h"

static void check(CUresult r, const char *call) {
    if (r != CUDA_SUCCESS) {
        const char *text = "unknown";
        cuGetErrorString(r, &text);
        fprintf(stderr, "startup-cuda: %s: %s\n", call, text);
        exit(1);
    }
}

#define CHECK(call) check(call, #call)

int main(int argc, char **argv) {
    double started = processStart();
    if (argc != 2) {
        fprintf(stderr, "usage: startup-cuda DIR\n");
        return 2;
    }
    static Work work;
    CUdevice device;
    CUcontext context;
    char name[256];
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDeviceGetName(name, sizeof name, device));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    double opened = seconds();
    makeWork(&work);
    CUdeviceptr a, b, c;
    CHECK(cuMemAlloc(&a, sizeof work.a));
    CHECK(cuMemAlloc(&b, sizeof work.b));
    CHECK(cuMemAlloc(&c, sizeof work.c));
    CHECK(cuMemcpyHtoD(a, work.a, sizeof work.a));
    CHECK(cuMemcpyHtoD(b, work.b, sizeof work.b));
    double begun = seconds();
    for (int i = 0; i < programs; ++i) {
        CUmodule module;
        CUfunction f;
        int size = SIDE, tile = tileOf(i);
        unsigned grid = (SIDE + tile - 1) / tile;
        CHECK(cuMemsetD32(c, poisonWord, sizeof work.c / 4));
        CHECK(cuModuleLoad(&module, (std::string(argv[1]) + "/" + std::to_string(i) + ".cubin").c_str()));
        CHECK(cuModuleGetFunction(&f, module, "product"));
        void *arguments[] = {&a, &b, &c, &size, &size, &size};
        CHECK(cuLaunchKernel(f, grid, grid, 1, tile / 4, 16, 1, 0, nullptr, arguments, nullptr));
        CHECK(cuMemcpyDtoH(work.results[i], c, sizeof work.c));
    }
    double done = seconds();
    return report("CUDA with cubins", name, &work, started, opened, done - begun);
}

#endif
