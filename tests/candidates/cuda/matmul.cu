// expect: ok
// Tiled matrix product with two-dimensional blocks and padded, aligned tiles.
#define CHECK(c) do { if (!(c)) return __LINE__; } while (0)
#define EXPORT extern "C" __attribute__((visibility("default")))

constexpr int TILE = 16;
__global__ void __launch_bounds__(TILE *TILE) matmul(const float *__restrict__ a,
                                                    const float *__restrict__ b,
                                                    float *__restrict__ c, int m, int n, int k)
{
    __shared__ __align__(16) float as[TILE][TILE + 1];
    alignas(16) __shared__ float bs[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0.f;
    for (int k0 = 0; k0 < k; k0 += TILE) {
        as[threadIdx.y][threadIdx.x] =
            row < m && k0 + threadIdx.x < k ? a[row * k + k0 + threadIdx.x] : 0.f;
        bs[threadIdx.y][threadIdx.x] =
            col < n && k0 + threadIdx.y < k ? b[(k0 + threadIdx.y) * n + col] : 0.f;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE; ++i)
            sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
        __syncthreads();
    }
    if (row < m && col < n)
        c[row * n + col] = sum;
}

EXPORT int test_main()
{
    const int m = 37, n = 45, k = 51;
    static float a[m * k], b[k * n], c[m * n];
    for (int i = 0; i < m * k; i++)
        a[i] = i % 7 - 3;
    for (int i = 0; i < k * n; i++)
        b[i] = i % 5 - 2;
    dim3 block(TILE, TILE), grid((n + TILE - 1) / TILE, (m + TILE - 1) / TILE);
    matmul<<<grid, block>>>(a, b, c, m, n, k);
    CHECK(cudaGetLastError() == cudaSuccess);
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < n; j++) {
            float sum = 0;
            for (int p = 0; p < k; p++)
                sum += a[i * k + p] * b[p * n + j];
            CHECK(c[i * n + j] == sum);
        }
    }
    return 0;
}
