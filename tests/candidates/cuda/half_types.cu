// expect: ok
// __half and __nv_bfloat16: conversions, operators, pairs, shuffles.
#define CHECK(c) do { if (!(c)) return __LINE__; } while (0)
#define EXPORT extern "C" __attribute__((visibility("default")))
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__global__ void halves(const half *in, half *out, half2 *pairs)
{
    int t = threadIdx.x;
    half a = in[t], b = __float2half(2.0f);
    out[t] = __hadd(__hmul(a, b), __float2half(1.f));
    half2 p = __half2half2(a);
    pairs[t] = __hfma2(p, p, __floats2half2_rn(1.f, -1.f));
    half sum = a;
    for (int o = 16; o; o /= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, o);
    if (t == 31)
        out[t] = sum;
    if (__hgt(a, b) && a != b)
        out[t] = hexp(__float2half(0.f));
}

__global__ void brains(const __nv_bfloat16 *in, __nv_bfloat16 *out, float *sum)
{
    int t = threadIdx.x;
    float v = __bfloat162float(__ldg(in + t)) * 2.f;
    out[t] = __float2bfloat16(v);
    __nv_bfloat162 p = __halves2bfloat162(in[t], in[t]);
    atomicAdd(sum, __bfloat1622float2(p).x);
}

EXPORT int test_main()
{
    half h[32], out[32];
    half2 pairs[32];
    for (int i = 0; i < 32; i++)
        h[i] = __float2half(i < 3 ? i : 1.f);
    halves<<<1, 32>>>(h, out, pairs);
    CHECK(__half2float(out[2]) == 5.f && (float)out[31] == 0 + 1 + 2 + 29);
    CHECK(__low2float(pairs[2]) == 5.f && __high2float(pairs[2]) == 3.f);
    CHECK(__half_as_ushort(__float2half(65520.f)) == 0x7c00);
    CHECK(__half_as_ushort(__float2half(5.9604645e-8f)) == 1);
    CHECK(__half_as_ushort(__float2half_rz(65535.f)) == 0x7bff);
    CHECK(__half_as_ushort(__float2half(1.0f + 1.0f / 2048)) == 0x3c00);
    CHECK(__half_as_ushort(__float2half_ru(1.0f + 1.0f / 2048)) == 0x3c01);
    CHECK(half(2049) == half(2048) && int(half(7.9f)) == 7 && __half2int_rn(half(7.9f)) == 8);
    CHECK(half(1.5) + half(2) == half(3.5f) && -half(1.f) < half(0.f));

    __nv_bfloat16 b[32], bout[32];
    float sum = 0;
    for (int i = 0; i < 32; i++)
        b[i] = __float2bfloat16(i);
    brains<<<1, 32>>>(b, bout, &sum);
    CHECK(__bfloat162float(bout[7]) == 14.f && sum == 31 * 16);
    CHECK(__bfloat16_as_ushort(__float2bfloat16(1.00390625f)) == 0x3f80); /* a tie, to even */
    return 0;
}
