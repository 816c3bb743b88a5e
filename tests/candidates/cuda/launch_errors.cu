// expect: ok
// Launches outside the limits fail with CUDA's numbers and do not run.
#define CHECK(c) do { if (!(c)) return __LINE__; } while (0)
#define EXPORT extern "C" __attribute__((visibility("default")))

__global__ void touch(int *out)
{
    extern __shared__ int s[];
    s[0] = 1;
    *out += s[0];
}

template <int N>
__global__ void __launch_bounds__(N, 2) bounded(int *out)
{
    *out = threadIdx.x;
}

EXPORT int test_main()
{
    int out = 0;
    touch<<<1, 1025>>>(&out);
    CHECK(cudaPeekAtLastError() == cudaErrorInvalidConfiguration);
    CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
    CHECK(cudaGetLastError() == cudaSuccess);
    touch<<<0, 32>>>(&out);
    CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
    touch<<<1, 0>>>(&out);
    CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
    touch<<<dim3(1, 65536), 1>>>(&out);
    CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
    touch<<<1, dim3(1, 1, 65)>>>(&out);
    CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
    touch<<<1, dim3(32, 33)>>>(&out);
    CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
    touch<<<1, 1, 48 * 1024 + 1>>>(&out);
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);
    CHECK(out == 0);
    CHECK(cudaFuncSetAttribute(touch, cudaFuncAttributeMaxDynamicSharedMemorySize, 228 * 1024) ==
          cudaErrorInvalidValue);
    cudaGetLastError();
    CHECK(cudaFuncSetAttribute((const void *)touch, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               100 * 1024) == cudaSuccess);
    touch<<<1, 1, 100 * 1024>>>(&out);
    CHECK(cudaGetLastError() == cudaSuccess);
    CHECK(out == 1);
    touch<<<1, 1, 100 * 1024 + 1>>>(&out);
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);
    touch<<<dim3(2, 3, 4), 2, 4>>>(&out);
    CHECK(out == 49);
    CHECK(strcmp(cudaGetErrorName(cudaErrorInvalidValue), "cudaErrorInvalidValue") == 0);
    CHECK(cudaGetErrorString(cudaSuccess)[0] == 'n');
    bounded<64><<<1, 65>>>(&out);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(cudaGetLastError() == cudaErrorInvalidValue && out == 49);
    bounded<64><<<1, 64>>>(&out);
    CHECK(cudaGetLastError() == cudaSuccess && out == 63);
    cudaFuncAttributes attributes;
    CHECK(cudaFuncGetAttributes(&attributes, bounded<64>) == cudaSuccess);
    CHECK(attributes.maxThreadsPerBlock == 64);
    return 0;
}
