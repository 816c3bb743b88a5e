// expect: unsupported the CPU device does not have <cublas_v2.h>
// A library of the toolkit that is not here.
#define CHECK(c) do { if (!(c)) return __LINE__; } while (0)
#define EXPORT extern "C" __attribute__((visibility("default")))
#include <cublas_v2.h>
