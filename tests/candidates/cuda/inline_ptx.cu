// expect: unsupported line 6: inline PTX (ex2.approx.ftz.f32) cannot run on the CPU device
// Inline PTX.
#define CHECK(c) do { if (!(c)) return __LINE__; } while (0)
#define EXPORT extern "C" __attribute__((visibility("default")))
__device__ float exp2_fast(float x)
{ asm volatile("{\n\t.reg .f32 t;\n\tex2.approx.ftz.f32 %0, %0;}" : "+f"(x)); return x; }
