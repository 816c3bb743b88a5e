#define L(n) k_##n<<<1, \
 2>>>(x); \
 y
#define C(k) k<<<1, 2>>>
#define G __global__ void
G k(){ asm(""); }
