auto r = R"x(k<<<1,2>>>)x"; char q = '"'; int n = 1'000;
#if 0
it's
#endif
#include <torch/x.h>
