// expect: ok
// Intrinsics on single values.
#define CHECK(c) do { if (!(c)) return __LINE__; } while (0)
#define EXPORT extern "C" __attribute__((visibility("default")))
#include <algorithm>
#include <cmath>
#include <math_constants.h>
using namespace std;

EXPORT int test_main()
{
    CHECK(__popc(0xff) == 8 && __clz(1) == 31 && __clz(0) == 32 && __ffs(8) == 4);
    CHECK(__brev(1) == 0x80000000u && __brevll(2) == 0x4000000000000000ull);
    CHECK(__float_as_int(1.f) == 0x3f800000 && __int_as_float(0x40000000) == 2.f);
    CHECK(__float2int_rn(2.5f) == 2 && __float2int_rz(-2.9f) == -2 && __float2int_ru(2.1f) == 3);
    CHECK(__float2int_rn(1e20f) == 0x7fffffff && __float2int_rn(NAN) == 0);
    CHECK(__float2uint_rz(-3.f) == 0);
    CHECK(__fadd_rz(1.f, 1e-9f) == 1.f && __fadd_ru(1.f, 1e-9f) > 1.f);
    CHECK(__fmaf_rn(2.f, 3.f, 4.f) == 10.f && __frcp_rn(4.f) == 0.25f);
    CHECK(__fdividef(1.f, 4.f) == 0.25f && rsqrtf(16.f) == 0.25f && __saturatef(3.f) == 1.f);
    CHECK(max(1, 2u) == 2u && max(1.5f, 2.0) == 2.0 && min(3ll, 2ll) == 2);
    CHECK(fmaxf(NAN, 1.f) == 1.f && max(NAN, 1.f) == 1.f && min(1.f, NAN) == 1.f);
    CHECK(__mulhi(1 << 30, 8) == 2 && __umulhi(0x80000000u, 4) == 2);
    CHECK(__byte_perm(0x33221100, 0x77665544, 0x7520) == 0x77552200);
    CHECK(__funnelshift_l(0x80000000u, 1, 1) == 3 && __dp4a(0x01010101, 0x02020202, 1) == 9);
    CHECK(erfinv(erf(0.3)) > 0.2999 && erfinv(erf(0.3)) < 0.3001);
    CHECK(normcdff(0.f) == 0.5f && sinpif(0.5f) == 1.f && CUDART_INF_F > 1e38f);
    float s, c;
    sincosf(0.f, &s, &c);
    __sincosf(0.f, &s, &c);
    CHECK(s == 0.f && c == 1.f && __expf(0.f) == 1.f && __powf(2.f, 3.f) == 8.f);
    float4 v = make_float4(1, 2, 3, 4);
    CHECK(sizeof v == 16 && alignof(float4) == 16 && v.w == 4 && sizeof(float3) == 12);
    __stcs(&v, make_float4(0, 0, 0, 9));
    CHECK(__ldg(&v).w == 9 && alignof(uint2) == 8 && sizeof(uchar4) == 4);
    CHECK(isnan(CUDART_NAN_F) && abs(-2.5f) == 2.5f && pow(2.f, 3) == 8.f);
    return 0;
}
