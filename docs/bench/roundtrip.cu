// How long a word takes from the host to a running CUDA kernel and back, through
// memory that is mapped for both: the peer of `shadercache bench resident
// --workloads round_trip`.
//
//   nvcc -O2 -o roundtrip docs/bench/roundtrip.cu && ./roundtrip

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

constexpr unsigned stop = 0xffffffffu;
constexpr int ask = 0, answer = 16; // words, a cache line each
constexpr unsigned rounds = 20000;

__global__ void echo(volatile unsigned *words) {
    if (threadIdx.x != 0) {
        return;
    }
    unsigned seen = 0;
    for (long looks = 0; looks < 2000000000L && seen != stop; ++looks) {
        unsigned now = words[ask];
        if (now != seen) {
            words[answer] = now;
            seen = now;
        }
    }
}

int main() {
    using clock = std::chrono::steady_clock;
    unsigned *host = nullptr, *device = nullptr;
    if (cudaHostAlloc(&host, 4096, cudaHostAllocMapped) != cudaSuccess ||
        cudaHostGetDevicePointer(&device, host, 0) != cudaSuccess) {
        std::fprintf(stderr, "roundtrip: no mapped memory\n");
        return 1;
    }
    std::fill(host, host + 64, 0u);
    volatile unsigned *words = host;
    echo<<<1, 32>>>(device);
    std::vector<double> micros;
    for (unsigned n = 1; n <= rounds; ++n) {
        auto began = clock::now();
        words[ask] = n;
        while (words[answer] != n) {
        }
        micros.push_back(std::chrono::duration<double, std::micro>(clock::now() - began).count());
    }
    words[ask] = stop;
    if (cudaDeviceSynchronize() != cudaSuccess) {
        std::fprintf(stderr, "roundtrip: the kernel failed\n");
        return 1;
    }
    std::sort(micros.begin(), micros.end());
    std::printf("median %.3f us, 99th percentile %.3f us\n", micros[rounds / 2], micros[rounds * 99 / 100]);
}
