__global__ void k() { if (a) {
#ifdef X
} else {
#else
}
{
#endif
} }