// expect: fail undefined symbol missing_function(float)
// A misspelt function is an error of compiling, not of loading.
#define CHECK(c) do { if (!(c)) return __LINE__; } while (0)
#define EXPORT extern "C" __attribute__((visibility("default")))
float missing_function(float x);
EXPORT int test_main()
{
    return (int)missing_function(1);
}
