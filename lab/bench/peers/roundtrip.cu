// Measures the time of a word from the host to a running CUDA kernel and back, through
// memory that is mapped for both: the peer of `shadercache-lab bench resident
// --workloads round_trip`. It needs an NVIDIA GPU, and nvcc of CUDA 11 or newer:
//
//   nvcc -std=c++14 -O2 -o roundtrip lab/bench/peers/roundtrip.cu && ./roundtrip
//
// Each of 20,000 rounds waits for the answer to its own number. It prints one line:
//
//   NVIDIA H200: 20000 rounds, median M us, 99th percentile P us
//
// The exit code is 1 where there is no such GPU, or an answer is missing.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

constexpr unsigned stop = 0xffffffffu;
constexpr int request = 0, answer = 16; // words, on a cache line each
constexpr unsigned rounds = 20000;
constexpr long maxPolls = 2000000000L; // of the kernel, so that it always ends
constexpr std::chrono::seconds timeout(10); // of one answer

__global__ void echo(volatile unsigned *words) {
    if (threadIdx.x != 0) {
        return;
    }
    unsigned seen = 0;
    for (long polls = 0; polls < maxPolls && seen != stop; ++polls) {
        unsigned now = words[request];
        if (now != seen) {
            words[answer] = now;
            seen = now;
        }
    }
}

// failed prints an error and returns the exit code.
int failed(const char *what, cudaError_t error) {
    std::fprintf(stderr, "roundtrip: %s: %s\n", what, cudaGetErrorString(error));
    return 1;
}

int main() {
    using steady = std::chrono::steady_clock;
    cudaDeviceProp gpu;
    cudaError_t error = cudaGetDeviceProperties(&gpu, 0);
    if (error != cudaSuccess) {
        return failed("no GPU", error);
    }
    unsigned *host = nullptr, *device = nullptr;
    error = cudaHostAlloc(&host, 4096, cudaHostAllocMapped);
    if (error == cudaSuccess) {
        error = cudaHostGetDevicePointer(&device, host, 0);
    }
    if (error != cudaSuccess) {
        return failed("no mapped memory", error);
    }
    std::fill(host, host + 64, 0u);
    volatile unsigned *words = host;
    echo<<<1, 32>>>(device);
    error = cudaGetLastError();
    if (error != cudaSuccess) {
        return failed("the kernel did not start", error);
    }
    std::vector<double> micros;
    for (unsigned n = 1; n <= rounds; ++n) {
        auto began = steady::now();
        words[request] = n;
        while (words[answer] != n) {
            if (steady::now() - began > timeout) {
                std::fprintf(stderr, "roundtrip: no answer to round %u\n", n);
                return 1;
            }
        }
        micros.push_back(std::chrono::duration<double, std::micro>(steady::now() - began).count());
    }
    words[request] = stop;
    error = cudaDeviceSynchronize();
    if (error != cudaSuccess) {
        return failed("the kernel failed", error);
    }
    std::sort(micros.begin(), micros.end());
    std::printf("%s: %u rounds, median %.3f us, 99th percentile %.3f us\n", gpu.name, rounds, micros[rounds / 2], micros[rounds * 99 / 100]);
    return 0;
}
