/**
 * @file cuda_runtime_api.h
 * The CUDA runtime API on the CPU device. Host and device share one address space, and everything
 * is done when a call returns: streams and events exist and order nothing.
 */
#ifndef RKB_CUDA_RUNTIME_API_H
#define RKB_CUDA_RUNTIME_API_H

#include "rkb_launch.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

namespace rkb
{
inline cudaError_t fail(cudaError_t error)
{
    rkb_rt_set_cuda_error(error);
    return error;
}
} // namespace rkb

/* ---- errors ---------------------------------------------------------------------------------- */

inline cudaError_t cudaGetLastError()
{
    return static_cast<cudaError_t>(rkb_rt_last_cuda_error(1));
}
inline cudaError_t cudaPeekAtLastError()
{
    return static_cast<cudaError_t>(rkb_rt_last_cuda_error(0));
}
inline const char *cudaGetErrorName(cudaError_t error)
{
    switch (error) {
#define RKB_CUDA_ERROR_CASE(_name, _number, _text)                                                 \
    case _name:                                                                                    \
        return #_name;
        RKB_CUDA_ERROR_MAP(RKB_CUDA_ERROR_CASE)
#undef RKB_CUDA_ERROR_CASE
    }
    return "unrecognized error code";
}
inline const char *cudaGetErrorString(cudaError_t error)
{
    switch (error) {
#define RKB_CUDA_ERROR_CASE(_name, _number, _text)                                                 \
    case _name:                                                                                    \
        return _text;
        RKB_CUDA_ERROR_MAP(RKB_CUDA_ERROR_CASE)
#undef RKB_CUDA_ERROR_CASE
    }
    return "unrecognized error code";
}

/* ---- device ---------------------------------------------------------------------------------- */

/* A launch that was refused is the last error; only what goes wrong later is reported here. */
inline cudaError_t cudaDeviceSynchronize()
{
    return cudaSuccess;
}
inline cudaError_t cudaThreadSynchronize()
{
    return cudaDeviceSynchronize();
}
inline cudaError_t cudaDeviceReset()
{
    return cudaSuccess;
}
inline cudaError_t cudaGetDeviceCount(int *count)
{
    *count = 1;
    return cudaSuccess;
}
inline cudaError_t cudaGetDevice(int *device)
{
    *device = 0;
    return cudaSuccess;
}
inline cudaError_t cudaSetDevice(int device)
{
    return device == 0 ? cudaSuccess : rkb::fail(cudaErrorInvalidDevice);
}
inline cudaError_t cudaInitDevice(int device, unsigned, unsigned)
{
    return cudaSetDevice(device);
}
inline cudaError_t cudaSetDeviceFlags(unsigned)
{
    return cudaSuccess;
}
inline cudaError_t cudaDriverGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}
inline cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}
inline cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device)
{
    if (device != 0)
        return rkb::fail(cudaErrorInvalidDevice);
    switch (attribute) {
#define RKB_CUDA_ATTRIBUTE_CASE(_name, _number, _value)                                            \
    case _name:                                                                                    \
        *value = _value;                                                                           \
        return cudaSuccess;
        RKB_CUDA_ATTRIBUTE_MAP(RKB_CUDA_ATTRIBUTE_CASE)
#undef RKB_CUDA_ATTRIBUTE_CASE
    }
    return rkb::fail(cudaErrorInvalidValue);
}
inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int device)
{
    if (device != 0)
        return rkb::fail(cudaErrorInvalidDevice);
    auto get = [](cudaDeviceAttr attribute) {
        int value = 0;
        cudaDeviceGetAttribute(&value, attribute, 0);
        return value;
    };
    *p = cudaDeviceProp{};
    strcpy(p->name, "rkb CPU device");
    p->totalGlobalMem = size_t(8) << 30;
    p->sharedMemPerBlock = RKB_SHARED_DEFAULT;
    p->sharedMemPerBlockOptin = RKB_SHARED_MAX;
    p->sharedMemPerMultiprocessor = get(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
    p->reservedSharedMemPerBlock = 1024;
    p->regsPerBlock = p->regsPerMultiprocessor = 65536;
    p->warpSize = 32;
    p->memPitch = 0x7fffffff;
    p->maxThreadsPerBlock = 1024;
    p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
    p->maxThreadsDim[2] = 64;
    p->maxGridSize[0] = 0x7fffffff;
    p->maxGridSize[1] = p->maxGridSize[2] = 65535;
    p->clockRate = get(cudaDevAttrClockRate);
    p->totalConstMem = 65536;
    p->major = 9;
    p->textureAlignment = 512;
    p->multiProcessorCount = get(cudaDevAttrMultiProcessorCount);
    p->canMapHostMemory = p->concurrentKernels = p->unifiedAddressing = p->managedMemory = 1;
    p->asyncEngineCount = 3;
    p->memoryClockRate = get(cudaDevAttrMemoryClockRate);
    p->memoryBusWidth = get(cudaDevAttrGlobalMemoryBusWidth);
    p->l2CacheSize = get(cudaDevAttrL2CacheSize);
    p->maxThreadsPerMultiProcessor = 2048;
    p->cooperativeLaunch = p->concurrentManagedAccess = 1;
    p->maxBlocksPerMultiProcessor = 32;
    return cudaSuccess;
}
inline cudaError_t cudaDeviceSetLimit(cudaLimit, size_t)
{
    return cudaSuccess;
}
inline cudaError_t cudaDeviceGetLimit(size_t *value, cudaLimit)
{
    *value = 0;
    return cudaSuccess;
}
inline cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache)
{
    return cudaSuccess;
}
inline cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig)
{
    return cudaSuccess;
}
inline cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    if (least)
        *least = 0;
    if (greatest)
        *greatest = -5;
    return cudaSuccess;
}
inline cudaError_t cudaDeviceCanAccessPeer(int *can, int, int)
{
    *can = 0;
    return cudaSuccess;
}
inline cudaError_t cudaProfilerStart()
{
    return cudaSuccess;
}
inline cudaError_t cudaProfilerStop()
{
    return cudaSuccess;
}

/* ---- memory ---------------------------------------------------------------------------------- */

inline cudaError_t cudaMalloc(void **pointer, size_t bytes)
{
    if (!pointer)
        return rkb::fail(cudaErrorInvalidValue);
    void *memory = bytes ? rkb_rt_device_alloc(bytes) : nullptr;
    if (bytes && !memory)
        return rkb::fail(cudaErrorMemoryAllocation);
    *pointer = memory;
    return cudaSuccess;
}
template <class T>
inline cudaError_t cudaMalloc(T **pointer, size_t bytes)
{
    return cudaMalloc(reinterpret_cast<void **>(pointer), bytes);
}
inline cudaError_t cudaFree(void *pointer)
{
    if (pointer && rkb_rt_device_free(pointer) != 0)
        return rkb::fail(cudaErrorInvalidValue);
    return cudaSuccess;
}
template <class T>
inline cudaError_t cudaMallocManaged(T **pointer, size_t bytes, unsigned = cudaMemAttachGlobal)
{
    return cudaMalloc(pointer, bytes);
}
template <class T>
inline cudaError_t cudaMallocAsync(T **pointer, size_t bytes, cudaStream_t)
{
    return cudaMalloc(pointer, bytes);
}
inline cudaError_t cudaFreeAsync(void *pointer, cudaStream_t)
{
    return cudaFree(pointer);
}
template <class T>
inline cudaError_t cudaMallocPitch(T **pointer, size_t *pitch, size_t width, size_t height)
{
    *pitch = (width + 511) / 512 * 512;
    return cudaMalloc(pointer, *pitch * height);
}
template <class T>
inline cudaError_t cudaMallocHost(T **pointer, size_t bytes, unsigned = 0)
{
    *pointer = static_cast<T *>(malloc(bytes ? bytes : 1));
    return *pointer ? cudaSuccess : rkb::fail(cudaErrorMemoryAllocation);
}
template <class T>
inline cudaError_t cudaHostAlloc(T **pointer, size_t bytes, unsigned)
{
    return cudaMallocHost(pointer, bytes);
}
inline cudaError_t cudaFreeHost(void *pointer)
{
    free(pointer);
    return cudaSuccess;
}
inline cudaError_t cudaHostRegister(void *, size_t, unsigned)
{
    return cudaSuccess;
}
inline cudaError_t cudaHostUnregister(void *)
{
    return cudaSuccess;
}
template <class T>
inline cudaError_t cudaHostGetDevicePointer(T **device, void *host, unsigned)
{
    *device = static_cast<T *>(host);
    return cudaSuccess;
}
inline cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
    *free_bytes = *total = size_t(8) << 30;
    return cudaSuccess;
}
inline cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *attributes, const void *pointer)
{
    void *p = const_cast<void *>(pointer);
    *attributes = {cudaMemoryTypeDevice, 0, p, p};
    return cudaSuccess;
}
inline cudaError_t cudaMemcpy(void *dst, const void *src, size_t bytes, cudaMemcpyKind kind)
{
    if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault)
        return rkb::fail(cudaErrorInvalidMemcpyDirection);
    if (bytes && (!dst || !src))
        return rkb::fail(cudaErrorInvalidValue);
    memmove(dst, src, bytes);
    return cudaSuccess;
}
inline cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t bytes, cudaMemcpyKind kind,
                                   cudaStream_t = nullptr)
{
    return cudaMemcpy(dst, src, bytes, kind);
}
inline cudaError_t cudaMemcpyPeer(void *dst, int, const void *src, int, size_t bytes)
{
    return cudaMemcpy(dst, src, bytes, cudaMemcpyDeviceToDevice);
}
inline cudaError_t cudaMemcpy2D(void *dst, size_t dpitch, const void *src, size_t spitch,
                                size_t width, size_t height, cudaMemcpyKind kind)
{
    if (width > dpitch || width > spitch)
        return rkb::fail(cudaErrorInvalidPitchValue);
    cudaError_t error = cudaSuccess;
    for (size_t row = 0; row < height && error == cudaSuccess; row++)
        error = cudaMemcpy(static_cast<char *>(dst) + row * dpitch,
                           static_cast<const char *>(src) + row * spitch, width, kind);
    return error;
}
inline cudaError_t cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch,
                                     size_t width, size_t height, cudaMemcpyKind kind,
                                     cudaStream_t = nullptr)
{
    return cudaMemcpy2D(dst, dpitch, src, spitch, width, height, kind);
}
inline cudaError_t cudaMemset(void *pointer, int value, size_t bytes)
{
    if (bytes && !pointer)
        return rkb::fail(cudaErrorInvalidValue);
    memset(pointer, value, bytes);
    return cudaSuccess;
}
inline cudaError_t cudaMemsetAsync(void *pointer, int value, size_t bytes, cudaStream_t = nullptr)
{
    return cudaMemset(pointer, value, bytes);
}
inline cudaError_t cudaMemset2D(void *pointer, size_t pitch, int value, size_t width, size_t height)
{
    for (size_t row = 0; row < height; row++)
        memset(static_cast<char *>(pointer) + row * pitch, value, width);
    return cudaSuccess;
}
template <class T>
inline cudaError_t cudaMemcpyToSymbol(const T &symbol, const void *src, size_t bytes,
                                      size_t offset = 0,
                                      cudaMemcpyKind kind = cudaMemcpyHostToDevice)
{
    if (offset + bytes > sizeof symbol)
        return rkb::fail(cudaErrorInvalidValue);
    return cudaMemcpy((char *)&symbol + offset, src, bytes, kind);
}
template <class T>
inline cudaError_t cudaMemcpyToSymbolAsync(const T &symbol, const void *src, size_t bytes,
                                           size_t offset, cudaMemcpyKind kind,
                                           cudaStream_t = nullptr)
{
    return cudaMemcpyToSymbol(symbol, src, bytes, offset, kind);
}
template <class T>
inline cudaError_t cudaMemcpyFromSymbol(void *dst, const T &symbol, size_t bytes, size_t offset = 0,
                                        cudaMemcpyKind kind = cudaMemcpyDeviceToHost)
{
    if (offset + bytes > sizeof symbol)
        return rkb::fail(cudaErrorInvalidValue);
    return cudaMemcpy(dst, (const char *)&symbol + offset, bytes, kind);
}
template <class T>
inline cudaError_t cudaMemcpyFromSymbolAsync(void *dst, const T &symbol, size_t bytes,
                                             size_t offset, cudaMemcpyKind kind,
                                             cudaStream_t = nullptr)
{
    return cudaMemcpyFromSymbol(dst, symbol, bytes, offset, kind);
}
template <class T>
inline cudaError_t cudaGetSymbolAddress(void **pointer, const T &symbol)
{
    *pointer = (void *)&symbol;
    return cudaSuccess;
}
template <class T>
inline cudaError_t cudaGetSymbolSize(size_t *size, const T &symbol)
{
    *size = sizeof symbol;
    return cudaSuccess;
}
inline cudaError_t cudaMemPrefetchAsync(const void *, size_t, int, cudaStream_t = nullptr)
{
    return cudaSuccess;
}

/* ---- kernels --------------------------------------------------------------------------------- */

template <class... P>
inline cudaError_t cudaLaunchKernel(void (*function)(P...), dim3 grid, dim3 block, void **arguments,
                                    size_t shared = 0, cudaStream_t = nullptr)
{
    rkb::launch_scope scope(grid, block, shared);
    return rkb::launch_packed(scope, function, arguments, std::index_sequence_for<P...>{});
}
inline cudaError_t cudaLaunchKernel(const void *, dim3, dim3, void **, size_t = 0,
                                    cudaStream_t = nullptr)
{
    rkb_rt_unsupported("cudaLaunchKernel through an untyped pointer");
}
template <class... P>
inline cudaError_t cudaLaunchCooperativeKernel(void (*function)(P...), dim3 grid, dim3 block,
                                               void **arguments, size_t shared = 0,
                                               cudaStream_t stream = nullptr)
{
    return cudaLaunchKernel(function, grid, block, arguments, shared, stream);
}
inline cudaError_t cudaLaunchCooperativeKernel(const void *, dim3, dim3, void **, size_t = 0,
                                               cudaStream_t = nullptr)
{
    rkb_rt_unsupported("cudaLaunchCooperativeKernel through an untyped pointer");
}
template <class... P, class... A>
inline cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*function)(P...),
                                      A &&...arguments)
{
    for (unsigned i = 0; i < config->numAttrs; i++) {
        const cudaLaunchAttribute &a = config->attrs[i];
        if (a.id == cudaLaunchAttributeClusterDimension &&
            a.val.clusterDim.x * a.val.clusterDim.y * a.val.clusterDim.z > 1)
            rkb_rt_unsupported("thread block clusters");
    }
    rkb::launch_scope scope(config->gridDim, config->blockDim, config->dynamicSmemBytes);
    function(std::forward<A>(arguments)...);
    return static_cast<cudaError_t>(scope.error);
}

template <class... P>
inline cudaError_t cudaFuncSetAttribute(void (*function)(P...), cudaFuncAttribute attribute,
                                        int value)
{
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize)
        return cudaSuccess;
    if (value < 0 || value > RKB_SHARED_MAX)
        return rkb::fail(cudaErrorInvalidValue);
    rkb::identify(function).shared_limit = static_cast<size_t>(value);
    return cudaSuccess;
}
inline cudaError_t cudaFuncSetAttribute(const void *, cudaFuncAttribute, int)
{
    rkb_rt_unsupported("cudaFuncSetAttribute through an untyped pointer");
}
template <class F>
inline cudaError_t cudaFuncSetCacheConfig(F, cudaFuncCache)
{
    return cudaSuccess;
}
template <class F>
inline cudaError_t cudaFuncSetSharedMemConfig(F, cudaSharedMemConfig)
{
    return cudaSuccess;
}
template <class... P>
inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, void (*function)(P...))
{
    *attributes = cudaFuncAttributes{};
    attributes->maxThreadsPerBlock = static_cast<int>(rkb::identify(function).max_threads);
    attributes->numRegs = 32;
    attributes->ptxVersion = attributes->binaryVersion = 90;
    attributes->maxDynamicSharedSizeBytes = static_cast<int>(rkb::identify(function).shared_limit);
    return cudaSuccess;
}
/* Register use is unknown here: threads and shared memory alone are counted. */
template <class F>
inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, F, int block_size,
                                                                 size_t shared)
{
    if (block_size <= 0 || block_size > 1024)
        return rkb::fail(cudaErrorInvalidValue);
    int warps = (block_size + 31) / 32;
    int by_threads = 64 / warps;
    int by_shared = static_cast<int>(233472 / (shared + 1024));
    int most = by_threads < by_shared ? by_threads : by_shared;
    *blocks = most < 32 ? most : 32;
    return cudaSuccess;
}
template <class F>
inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, F function,
                                                                          int block_size,
                                                                          size_t shared, unsigned)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, block_size, shared);
}
template <class F>
inline cudaError_t cudaOccupancyMaxPotentialBlockSize(int *min_grid, int *block_size, F, size_t = 0,
                                                      int limit = 0)
{
    *block_size = limit > 0 && limit < 1024 ? limit : 1024;
    *min_grid = 132 * (2048 / *block_size);
    return cudaSuccess;
}

#include "rkb_stream.h"

#endif
