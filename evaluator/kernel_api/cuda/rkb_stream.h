/**
 * @file rkb_stream.h
 * Streams, events and what there is of graphs; part of cuda_runtime_api.h. They order nothing,
 * since everything is done when a call returns.
 */
#ifndef RKB_CUDA_STREAM_H
#define RKB_CUDA_STREAM_H

#include "cuda_runtime_api.h"

#include <time.h>

struct CUevent_st {
    double milliseconds;
    bool recorded;
};

namespace rkb
{
/* Streams are told apart by their address only. */
inline cudaStream_t new_stream()
{
    return static_cast<cudaStream_t>(malloc(1));
}
} // namespace rkb

inline cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    *stream = rkb::new_stream();
    return *stream ? cudaSuccess : rkb::fail(cudaErrorMemoryAllocation);
}
inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned)
{
    return cudaStreamCreate(stream);
}
inline cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned, int)
{
    return cudaStreamCreate(stream);
}
inline cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    if (stream > cudaStreamPerThread)
        free(stream);
    return cudaSuccess;
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t)
{
    return cudaDeviceSynchronize();
}
inline cudaError_t cudaStreamQuery(cudaStream_t)
{
    return cudaSuccess;
}
inline cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned = 0)
{
    return cudaSuccess;
}
inline cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus *status)
{
    *status = cudaStreamCaptureStatusNone;
    return cudaSuccess;
}
inline cudaError_t cudaLaunchHostFunc(cudaStream_t, cudaHostFn_t function, void *data)
{
    function(data);
    return cudaSuccess;
}
inline cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode)
{
    rkb_rt_unsupported("CUDA graphs");
}
inline cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t *)
{
    rkb_rt_unsupported("CUDA graphs");
}
template <class... A>
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t *, cudaGraph_t, A...)
{
    rkb_rt_unsupported("CUDA graphs");
}
inline cudaError_t cudaGraphLaunch(cudaGraphExec_t, cudaStream_t)
{
    rkb_rt_unsupported("CUDA graphs");
}
inline cudaError_t cudaGraphDestroy(cudaGraph_t)
{
    return cudaSuccess;
}
inline cudaError_t cudaGraphExecDestroy(cudaGraphExec_t)
{
    return cudaSuccess;
}

inline cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    *event = static_cast<cudaEvent_t>(calloc(1, sizeof **event));
    return *event ? cudaSuccess : rkb::fail(cudaErrorMemoryAllocation);
}
inline cudaError_t cudaEventCreate(cudaEvent_t *event, unsigned)
{
    return cudaEventCreate(event);
}
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned)
{
    return cudaEventCreate(event);
}
inline cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    free(event);
    return cudaSuccess;
}
inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t = nullptr)
{
    if (!event)
        return rkb::fail(cudaErrorInvalidResourceHandle);
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    event->milliseconds = now.tv_sec * 1e3 + now.tv_nsec * 1e-6;
    event->recorded = true;
    return cudaSuccess;
}
inline cudaError_t cudaEventSynchronize(cudaEvent_t)
{
    return cudaSuccess;
}
inline cudaError_t cudaEventQuery(cudaEvent_t)
{
    return cudaSuccess;
}
inline cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end)
{
    if (!start || !end || !start->recorded || !end->recorded)
        return rkb::fail(cudaErrorInvalidResourceHandle);
    *milliseconds = static_cast<float>(end->milliseconds - start->milliseconds);
    return cudaSuccess;
}

#endif
