// expect: ok
// Every way in which sources write a launch.
#define CHECK(c) do { if (!(c)) return __LINE__; } while (0)
#define EXPORT extern "C" __attribute__((visibility("default")))
#include <vector>
#include <functional>

__global__ void zero_arguments();
__device__ int counter;
__global__ void zero_arguments()
{
    counter++;
}

namespace outer
{
namespace inner
{
template <typename T, int N = 4>
__global__ void add(T *out, T value, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (; n > 0; n -= N) /* a parameter is each thread's own */
        value += 1;
    if (i < 8)
        out[i] += value;
}
} // namespace inner
} // namespace outer

template <typename T>
__global__ void deduced(const T *in, T *out)
{
    out[threadIdx.x] = in ? in[threadIdx.x] : T(-1);
}

struct params {
    int a[20];
    float b;
};
__global__ void by_value(params p, float *out, int scale = 3)
{
    p.a[threadIdx.x] *= 2;
    atomicAdd(out, p.a[threadIdx.x] + p.b * scale);
}

__global__ void overloaded(int *out, int)
{
    *out = 1;
}
__global__ void overloaded(int *out, float)
{
    *out = 2;
}

template <typename... Ts>
__global__ void variadic(int *out, Ts... values)
{
    *out = static_cast<int>((values + ... + 0));
}

#define DEFINE_KERNEL(name, op)                                                                    \
    __global__ void name(int *out, int a, int b)                                                   \
    {                                                                                              \
        __shared__ int s;                                                                          \
        s = a;                                                                                     \
        *out = s op b;                                                                             \
    }
DEFINE_KERNEL(plus_kernel, +)
DEFINE_KERNEL(times_kernel, *)

#define KERNEL __global__ void
KERNEL hidden(int *out)
{
    out[threadIdx.x] = threadIdx.x;
}

#define LAUNCH(name, n, ...)                                                                       \
    do {                                                                                           \
        name##_kernel<<<1, n>>>(__VA_ARGS__); /* in a macro */                                     \
    } while (0)
#define CONFIGURED(k) k<<<1, 1>>>
#define DISPATCH(type, ...)                                                                        \
    [&] {                                                                                          \
        using scalar_t = type;                                                                     \
        return __VA_ARGS__();                                                                      \
    }()

static int calls;
static float *once(float *p)
{
    calls++;
    zero_arguments<<<1, 1>>>(); /* a launch while another one's arguments are evaluated */
    return p;
}

template <typename T>
static void from_template(T *out)
{
    outer::inner::add<T, 2><<<dim3(2), 4, 0, 0>>>(out, T(1), 3);
}

EXPORT int test_main()
{
    zero_arguments<<<2, 3>>>();
    CHECK(counter == 6);

    float out[8] = {};
    outer::inner::add<float><<<2, 4>>>(once(out), 1, 9);
    CHECK(calls == 1 && counter == 7);
    for (float v : out)
        CHECK(v == 4);
    from_template(out);
    CHECK(out[7] == 4 + 3);
    ::outer::inner::add<float, (3 > 2) ? 8 : 1><<<1, 8>>>(out, 0, 1);
    CHECK(out[0] == 8);

    float in[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    deduced<<<1, 8>>>(in, out);
    CHECK(out[7] == 7);
    deduced<float><<<1, 8>>>(nullptr, out);
    CHECK(out[7] == -1);
    deduced<float><<<1, 8>>>(NULL, out);
    deduced<float><<<1, 8>>>(0, out);
    CHECK(out[0] == -1);

    params p = {{1, 2, 3, 4}, 0.5f};
    out[0] = 0;
    by_value<<<1, 4>>>(p, out);
    CHECK(out[0] == 20 + 6 && p.a[0] == 1);
    by_value<<<1, 1>>>({{1}, 1.f}, out, 0);
    CHECK(out[0] == 28);

    int i = 0;
    overloaded<<<1, 1>>>(&i, 1.0f);
    CHECK(i == 2);
    overloaded<<<1, 1>>>(&i, 1);
    CHECK(i == 1);
    variadic<<<1, 1>>>(&i, 1, 2.5f, 3u);
    CHECK(i == 6);
    variadic<<<1, 1>>>(&i);
    CHECK(i == 0);

    LAUNCH(plus, 1, &i, 3, 4);
    CHECK(i == 7);
    LAUNCH(times, 1, &i, 3, 4);
    CHECK(i == 12);
    CONFIGURED(plus_kernel)(&i, 1, 1);
    CHECK(i == 2);
    int many[4];
    hidden<<<1, 4>>>(many);
    CHECK(many[3] == 3);

    void (*pointer)(int *, int, int) = plus_kernel;
    pointer<<<1, 1>>>(&i, 2, 3);
    CHECK(i == 5);
    void (*table[])(int *, int, int) = {plus_kernel, times_kernel};
    table[1]<<<1, 1>>>(&i, 2, 3);
    CHECK(i == 6);
    (i ? plus_kernel : times_kernel)<<<1, 1>>>(&i, 2, 3);
    CHECK(i == 5);

    DISPATCH(double, [&] {
        std::vector<scalar_t> v(8, 1.0);
        outer::inner::add<scalar_t>
            <<<1, // the grid
               8 /* the block >>> */>>>(v.data(),
                                        scalar_t(2), 0);
        i = static_cast<int>(v[5]);
    });
    CHECK(i == 3);
    if (i == 3)
        plus_kernel<<<1, 1>>>(&i, 0, 1);
    else
        times_kernel<<<1, 1>>>(&i, 0, 1);
    CHECK(i == 1);
    CHECK((1024 >> 2 >> 1) == 128 && cudaGetLastError() == cudaSuccess);

    void *arguments[] = {&pointer, &i, &i};
    int *address = &i, a = 20, b = 22;
    arguments[0] = &address;
    arguments[1] = &a;
    arguments[2] = &b;
    CHECK(cudaLaunchKernel((void *)plus_kernel, dim3(1), dim3(1), arguments, 0, nullptr) ==
          cudaSuccess);
    CHECK(i == 42);
    CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<const void *>(times_kernel), 1, 1,
                                      arguments) == cudaSuccess);
    CHECK(i == 440);
    cudaLaunchConfig_t config;
    config.gridDim = 1;
    config.blockDim = 1;
    CHECK(cudaLaunchKernelEx(&config, plus_kernel, &i, 1, 2) == cudaSuccess && i == 3);
    return 0;
}
