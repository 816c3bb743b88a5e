// expect: ok
// The runtime API: memory, symbols, streams, events, properties, occupancy.
#define CHECK(c) do { if (!(c)) return __LINE__; } while (0)
#define EXPORT extern "C" __attribute__((visibility("default")))

__constant__ float weights[8];
__device__ int result[4];
__constant__ static const int fixed[2] = {4, 5};

__global__ void use(float *out)
{
    out[threadIdx.x] = weights[threadIdx.x] * fixed[1];
    result[threadIdx.x % 4] = threadIdx.x;
}

EXPORT int test_main()
{
    float host[8], *device, back[8];
    for (int i = 0; i < 8; i++)
        host[i] = i;
    CHECK(cudaMemcpyToSymbol(weights, host, sizeof host) == cudaSuccess);
    CHECK(cudaMemcpyToSymbol(weights, host, sizeof host, 4) == cudaErrorInvalidValue);
    CHECK(cudaMalloc(&device, sizeof host) == cudaSuccess);
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    cudaEvent_t start, stop;
    cudaEventCreate(&start);
    cudaEventCreate(&stop);
    cudaEventRecord(start, stream);
    use<<<1, 8, 0, stream>>>(device);
    cudaEventRecord(stop, stream);
    CHECK(cudaMemcpyAsync(back, device, sizeof back, cudaMemcpyDeviceToHost, stream) ==
          cudaSuccess);
    float ms = -1;
    CHECK(cudaEventElapsedTime(&ms, start, stop) == cudaSuccess && ms >= 0);
    for (int i = 0; i < 8; i++)
        CHECK(back[i] == 5 * i);
    int r[4];
    CHECK(cudaMemcpyFromSymbol(r, result, sizeof r) == cudaSuccess && r[3] == 7);
    CHECK(cudaMemset(device, 0, 16) == cudaSuccess && device[3] == 0 && device[4] == 20);
    CHECK(cudaMemcpy(nullptr, device, 4, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);
    char grid[2][4] = {"abc", "def"}, wide[2][8] = {};
    CHECK(cudaMemcpy2D(wide, 8, grid, 4, 4, 2, cudaMemcpyHostToDevice) == cudaSuccess);
    CHECK(wide[1][2] == 'f');
    cudaDeviceProp prop;
    CHECK(cudaGetDeviceProperties(&prop, 0) == cudaSuccess);
    CHECK(prop.multiProcessorCount == 132 && prop.warpSize == 32 && prop.major == 9);
    int value, blocks, block_size;
    CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0) ==
          cudaSuccess);
    CHECK(value == 227 * 1024);
    CHECK(cudaSetDevice(1) == cudaErrorInvalidDevice);
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, use, 256, 0) == cudaSuccess);
    CHECK(blocks == 8);
    CHECK(cudaOccupancyMaxPotentialBlockSize(&value, &block_size, use) == cudaSuccess);
    CHECK(block_size == 1024);
    cudaFuncAttributes attributes;
    CHECK(cudaFuncGetAttributes(&attributes, use) == cudaSuccess);
    CHECK(attributes.maxDynamicSharedSizeBytes == 48 * 1024);
    CHECK(cudaFree(device) == cudaSuccess && cudaStreamDestroy(stream) == cudaSuccess);
    CHECK(cudaEventDestroy(start) == cudaSuccess && cudaEventDestroy(stop) == cudaSuccess);
    CHECK(cudaGetLastError() == cudaErrorInvalidDevice); /* of cudaSetDevice(1), kept until read */
    CHECK(cudaStreamSynchronize(0) == cudaSuccess);
    return 0;
}
