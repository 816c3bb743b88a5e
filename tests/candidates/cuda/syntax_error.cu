// expect: fail line 7: 
// The line of an error is the candidate's.
#define CHECK(c) do { if (!(c)) return __LINE__; } while (0)
#define EXPORT extern "C" __attribute__((visibility("default")))
__global__ void k(int *x)
{
    *x = undeclared;
}
