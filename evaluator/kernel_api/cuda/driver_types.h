/**
 * @file driver_types.h
 * Types and constants of the CUDA runtime API.
 */
#ifndef RKB_CUDA_DRIVER_TYPES_H
#define RKB_CUDA_DRIVER_TYPES_H

#include "vector_types.h"

#include <stddef.h>

#define CUDART_VERSION 12040
#define CUDA_VERSION 12040

/* X(name, number, text) */
#define RKB_CUDA_ERROR_MAP(X)                                                                      \
    X(cudaSuccess, 0, "no error")                                                                  \
    X(cudaErrorInvalidValue, 1, "invalid argument")                                                \
    X(cudaErrorMemoryAllocation, 2, "out of memory")                                               \
    X(cudaErrorInitializationError, 3, "initialization error")                                     \
    X(cudaErrorCudartUnloading, 4, "driver shutting down")                                         \
    X(cudaErrorInvalidConfiguration, 9, "invalid configuration argument")                          \
    X(cudaErrorInvalidPitchValue, 12, "invalid pitch argument")                                    \
    X(cudaErrorInvalidSymbol, 13, "invalid device symbol")                                         \
    X(cudaErrorInvalidMemcpyDirection, 21, "invalid copy direction for memcpy")                    \
    X(cudaErrorInsufficientDriver, 35, "CUDA driver version is insufficient")                      \
    X(cudaErrorInvalidDeviceFunction, 98, "invalid device function")                               \
    X(cudaErrorNoDevice, 100, "no CUDA-capable device is detected")                                \
    X(cudaErrorInvalidDevice, 101, "invalid device ordinal")                                       \
    X(cudaErrorInvalidKernelImage, 200, "device kernel image is invalid")                          \
    X(cudaErrorNoKernelImageForDevice, 209, "no kernel image is available for execution")          \
    X(cudaErrorInvalidResourceHandle, 400, "invalid resource handle")                              \
    X(cudaErrorSymbolNotFound, 500, "named symbol not found")                                      \
    X(cudaErrorNotReady, 600, "device not ready")                                                  \
    X(cudaErrorIllegalAddress, 700, "an illegal memory access was encountered")                    \
    X(cudaErrorLaunchOutOfResources, 701, "too many resources requested for launch")               \
    X(cudaErrorLaunchTimeout, 702, "the launch timed out and was terminated")                      \
    X(cudaErrorPeerAccessAlreadyEnabled, 704, "peer access is already enabled")                    \
    X(cudaErrorAssert, 710, "device-side assert triggered")                                        \
    X(cudaErrorLaunchFailure, 719, "unspecified launch failure")                                   \
    X(cudaErrorCooperativeLaunchTooLarge, 720, "too many blocks in cooperative launch")            \
    X(cudaErrorNotPermitted, 800, "operation not permitted")                                       \
    X(cudaErrorNotSupported, 801, "operation not supported")                                       \
    X(cudaErrorUnknown, 999, "unknown error")

enum cudaError {
#define RKB_CUDA_ERROR_ENUM(_name, _number, _text) _name = _number,
    RKB_CUDA_ERROR_MAP(RKB_CUDA_ERROR_ENUM)
#undef RKB_CUDA_ERROR_ENUM
};
typedef enum cudaError cudaError_t;

typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
typedef struct CUgraph_st *cudaGraph_t;
typedef struct CUgraphExec_st *cudaGraphExec_t;
typedef struct CUgraphNode_st *cudaGraphNode_t;
typedef unsigned long long cudaTextureObject_t;
typedef unsigned long long cudaSurfaceObject_t;
typedef void (*cudaHostFn_t)(void *);

#define cudaStreamDefault 0x00
#define cudaStreamNonBlocking 0x01
#define cudaStreamLegacy ((cudaStream_t)0x1)
#define cudaStreamPerThread ((cudaStream_t)0x2)
#define cudaEventDefault 0x00
#define cudaEventBlockingSync 0x01
#define cudaEventDisableTiming 0x02
#define cudaEventInterprocess 0x04
#define cudaEventRecordDefault 0x00
#define cudaEventWaitDefault 0x00
#define cudaHostAllocDefault 0x00
#define cudaHostAllocPortable 0x01
#define cudaHostAllocMapped 0x02
#define cudaHostAllocWriteCombined 0x04
#define cudaMemAttachGlobal 0x01
#define cudaMemAttachHost 0x02
#define cudaDeviceScheduleAuto 0x00
#define cudaDeviceMapHost 0x08
#define cudaOccupancyDefault 0x00
#define cudaCpuDeviceId (-1)
#define cudaInvalidDeviceId (-2)

enum cudaMemcpyKind {
    cudaMemcpyHostToHost = 0,
    cudaMemcpyHostToDevice = 1,
    cudaMemcpyDeviceToHost = 2,
    cudaMemcpyDeviceToDevice = 3,
    cudaMemcpyDefault = 4
};

enum cudaFuncAttribute {
    cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
    cudaFuncAttributePreferredSharedMemoryCarveout = 9,
    cudaFuncAttributeClusterDimMustBeSet = 10,
    cudaFuncAttributeRequiredClusterWidth = 11,
    cudaFuncAttributeRequiredClusterHeight = 12,
    cudaFuncAttributeRequiredClusterDepth = 13,
    cudaFuncAttributeNonPortableClusterSizeAllowed = 14,
    cudaFuncAttributeClusterSchedulingPolicyPreference = 15
};
enum cudaSharedCarveout {
    cudaSharedmemCarveoutDefault = -1,
    cudaSharedmemCarveoutMaxShared = 100,
    cudaSharedmemCarveoutMaxL1 = 0
};
enum cudaFuncCache {
    cudaFuncCachePreferNone = 0,
    cudaFuncCachePreferShared = 1,
    cudaFuncCachePreferL1 = 2,
    cudaFuncCachePreferEqual = 3
};
enum cudaSharedMemConfig {
    cudaSharedMemBankSizeDefault = 0,
    cudaSharedMemBankSizeFourByte = 1,
    cudaSharedMemBankSizeEightByte = 2
};
enum cudaLimit {
    cudaLimitStackSize = 0,
    cudaLimitPrintfFifoSize = 1,
    cudaLimitMallocHeapSize = 2,
    cudaLimitPersistingL2CacheSize = 6
};

struct cudaFuncAttributes {
    size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
    int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, cacheModeCA;
    int maxDynamicSharedSizeBytes, preferredShmemCarveout;
};

enum cudaMemoryType {
    cudaMemoryTypeUnregistered = 0,
    cudaMemoryTypeHost = 1,
    cudaMemoryTypeDevice = 2,
    cudaMemoryTypeManaged = 3
};
struct cudaPointerAttributes {
    enum cudaMemoryType type;
    int device;
    void *devicePointer, *hostPointer;
};

/* X(name, number, value): what the pretended device says, an H100 where it matters to a launch. */
#define RKB_CUDA_ATTRIBUTE_MAP(X)                                                                  \
    X(cudaDevAttrMaxThreadsPerBlock, 1, 1024)                                                      \
    X(cudaDevAttrMaxBlockDimX, 2, 1024)                                                            \
    X(cudaDevAttrMaxBlockDimY, 3, 1024)                                                            \
    X(cudaDevAttrMaxBlockDimZ, 4, 64)                                                              \
    X(cudaDevAttrMaxGridDimX, 5, 0x7fffffff)                                                       \
    X(cudaDevAttrMaxGridDimY, 6, 65535)                                                            \
    X(cudaDevAttrMaxGridDimZ, 7, 65535)                                                            \
    X(cudaDevAttrMaxSharedMemoryPerBlock, 8, RKB_SHARED_DEFAULT)                                   \
    X(cudaDevAttrTotalConstantMemory, 9, 65536)                                                    \
    X(cudaDevAttrWarpSize, 10, 32)                                                                 \
    X(cudaDevAttrMaxRegistersPerBlock, 12, 65536)                                                  \
    X(cudaDevAttrClockRate, 13, 1980000)                                                           \
    X(cudaDevAttrMultiProcessorCount, 16, 132)                                                     \
    X(cudaDevAttrIntegrated, 18, 0)                                                                \
    X(cudaDevAttrCanMapHostMemory, 19, 1)                                                          \
    X(cudaDevAttrComputeMode, 20, 0)                                                               \
    X(cudaDevAttrConcurrentKernels, 31, 1)                                                         \
    X(cudaDevAttrMemoryClockRate, 36, 2619000)                                                     \
    X(cudaDevAttrGlobalMemoryBusWidth, 37, 5120)                                                   \
    X(cudaDevAttrL2CacheSize, 38, 52428800)                                                        \
    X(cudaDevAttrMaxThreadsPerMultiProcessor, 39, 2048)                                            \
    X(cudaDevAttrAsyncEngineCount, 40, 3)                                                          \
    X(cudaDevAttrUnifiedAddressing, 41, 1)                                                         \
    X(cudaDevAttrComputeCapabilityMajor, 75, 9)                                                    \
    X(cudaDevAttrComputeCapabilityMinor, 76, 0)                                                    \
    X(cudaDevAttrMaxSharedMemoryPerMultiprocessor, 81, 233472)                                     \
    X(cudaDevAttrMaxRegistersPerMultiprocessor, 82, 65536)                                         \
    X(cudaDevAttrManagedMemory, 83, 1)                                                             \
    X(cudaDevAttrConcurrentManagedAccess, 89, 1)                                                   \
    X(cudaDevAttrCooperativeLaunch, 95, 1)                                                         \
    X(cudaDevAttrMaxSharedMemoryPerBlockOptin, 97, RKB_SHARED_MAX)                                 \
    X(cudaDevAttrMaxBlocksPerMultiprocessor, 106, 32)                                              \
    X(cudaDevAttrReservedSharedMemoryPerBlock, 111, 1024)                                          \
    X(cudaDevAttrClusterLaunch, 120, 0)

enum cudaDeviceAttr {
#define RKB_CUDA_ATTRIBUTE_ENUM(_name, _number, _value) _name = _number,
    RKB_CUDA_ATTRIBUTE_MAP(RKB_CUDA_ATTRIBUTE_ENUM)
#undef RKB_CUDA_ATTRIBUTE_ENUM
};

struct cudaDeviceProp {
    char name[256];
    size_t totalGlobalMem, sharedMemPerBlock;
    int regsPerBlock, warpSize;
    size_t memPitch;
    int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate;
    size_t totalConstMem;
    int major, minor;
    size_t textureAlignment;
    int multiProcessorCount, kernelExecTimeoutEnabled, integrated, canMapHostMemory, computeMode;
    int concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, asyncEngineCount;
    int unifiedAddressing, memoryClockRate, memoryBusWidth, l2CacheSize, persistingL2CacheMaxSize;
    int maxThreadsPerMultiProcessor;
    size_t sharedMemPerMultiprocessor;
    int regsPerMultiprocessor, managedMemory, cooperativeLaunch, concurrentManagedAccess;
    size_t sharedMemPerBlockOptin;
    int maxBlocksPerMultiProcessor;
    size_t reservedSharedMemPerBlock;
};

enum cudaLaunchAttributeID {
    cudaLaunchAttributeIgnore = 0,
    cudaLaunchAttributeCooperative = 2,
    cudaLaunchAttributeClusterDimension = 4,
    cudaLaunchAttributeProgrammaticStreamSerialization = 6,
    cudaLaunchAttributePriority = 8
};
union cudaLaunchAttributeValue {
    int cooperative, priority, programmaticStreamSerializationAllowed;
    struct {
        unsigned x, y, z;
    } clusterDim;
};
struct cudaLaunchAttribute {
    cudaLaunchAttributeID id;
    cudaLaunchAttributeValue val;
};
struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes = 0;
    cudaStream_t stream = nullptr;
    cudaLaunchAttribute *attrs = nullptr;
    unsigned numAttrs = 0;
};

enum cudaStreamCaptureMode {
    cudaStreamCaptureModeGlobal = 0,
    cudaStreamCaptureModeThreadLocal = 1,
    cudaStreamCaptureModeRelaxed = 2
};
enum cudaStreamCaptureStatus {
    cudaStreamCaptureStatusNone = 0,
    cudaStreamCaptureStatusActive = 1,
    cudaStreamCaptureStatusInvalidated = 2
};

#endif
