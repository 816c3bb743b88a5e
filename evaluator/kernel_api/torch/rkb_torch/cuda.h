/**
 * @file cuda.h
 * Streams, guards, checks and device queries of c10::cuda and at::cuda over the CUDA runtime.
 */
#pragma once

#include "rkb_torch/tensor.h"

#include <cuda_runtime.h>

namespace rkb {

[[noreturn]] RKB_COLD inline void cuda_failed(cudaError_t error)
{
    (void)cudaGetLastError();
    fail_with(std::string("CUDA error: ") + cudaGetErrorString(error));
}

inline void cuda_check(cudaError_t error)
{
    if (C10_UNLIKELY(error != cudaSuccess))
        cuda_failed(error);
}

} // namespace rkb

#define C10_CUDA_CHECK(EXPR) ::rkb::cuda_check(EXPR)
#define C10_CUDA_CHECK_WARN(EXPR)                                                                  \
    do {                                                                                           \
        const cudaError_t rkb_error_ = EXPR;                                                       \
        if (rkb_error_ != cudaSuccess) {                                                           \
            (void)cudaGetLastError();                                                              \
            TORCH_WARN("CUDA warning: ", cudaGetErrorString(rkb_error_));                          \
        }                                                                                          \
    } while (0)
#define C10_CUDA_IGNORE_ERROR(EXPR) C10_CUDA_CHECK_WARN(EXPR)
#define C10_CUDA_ERROR_HANDLED(EXPR) EXPR
#define C10_CUDA_CLEAR_ERROR() ((void)cudaGetLastError())
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())
#define AT_CUDA_CHECK(EXPR) C10_CUDA_CHECK(EXPR)
#define TORCH_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_KERNEL_LAUNCH_CHECK()
#if defined(__CUDACC__) && !defined(RKB_CPU)
#define CUDA_KERNEL_ASSERT(cond)                                                                   \
    do {                                                                                           \
        if (C10_UNLIKELY(!(cond)))                                                                 \
            __trap();                                                                              \
    } while (0)
#else
#define CUDA_KERNEL_ASSERT(cond)                                                                   \
    do {                                                                                           \
        if (C10_UNLIKELY(!(cond)))                                                                 \
            rkb_rt_trap("device assert failed: " #cond);                                           \
    } while (0)
#endif

namespace c10 {

using StreamId = int64_t;

class Stream final
{
    Device device_;
    StreamId id_;

  public:
    Stream(Device device, StreamId id) : device_(device), id_(id) {}
    Device device() const { return device_; }
    DeviceIndex device_index() const { return device_.index(); }
    StreamId id() const { return id_; }
    bool operator==(const Stream &o) const { return id_ == o.id_; }
};

namespace cuda {

inline DeviceIndex device_count() noexcept
{
    int n = 0;
    return cudaGetDeviceCount(&n) == cudaSuccess ? static_cast<DeviceIndex>(n) : 0;
}
inline DeviceIndex current_device()
{
    int device = 0;
    C10_CUDA_CHECK(cudaGetDevice(&device));
    return static_cast<DeviceIndex>(device);
}
inline void set_device(DeviceIndex device)
{
    C10_CUDA_CHECK(cudaSetDevice(device));
}
inline void device_synchronize()
{
    C10_CUDA_CHECK(cudaDeviceSynchronize());
}

class CUDAStream
{
    cudaStream_t stream_;

  public:
    enum Unchecked { UNCHECKED };

    explicit CUDAStream(cudaStream_t stream) : stream_(stream) {}
    explicit CUDAStream(Stream stream) : stream_(reinterpret_cast<cudaStream_t>(stream.id())) {}
    operator cudaStream_t() const { return stream_; }
    operator Stream() const { return unwrap(); }
    Stream unwrap() const
    {
        return Stream(device(), static_cast<StreamId>(reinterpret_cast<intptr_t>(stream_)));
    }
    cudaStream_t stream() const { return stream_; }
    StreamId id() const { return unwrap().id(); }
    Device device() const { return Device(kCUDA, 0); }
    DeviceType device_type() const { return kCUDA; }
    DeviceIndex device_index() const { return 0; }
    void synchronize() const { C10_CUDA_CHECK(cudaStreamSynchronize(stream_)); }
    bool query() const { return cudaStreamQuery(stream_) == cudaSuccess; }
    bool operator==(const CUDAStream &o) const { return stream_ == o.stream_; }
    bool operator!=(const CUDAStream &o) const { return stream_ != o.stream_; }
};

namespace detail {
inline cudaStream_t &current_stream()
{
    static cudaStream_t stream = nullptr;
    return stream;
}
} // namespace detail

inline CUDAStream getCurrentCUDAStream(DeviceIndex = -1)
{
    return CUDAStream(detail::current_stream());
}
inline CUDAStream getDefaultCUDAStream(DeviceIndex = -1)
{
    return CUDAStream(static_cast<cudaStream_t>(nullptr));
}
inline void setCurrentCUDAStream(CUDAStream stream)
{
    detail::current_stream() = stream.stream();
}
inline CUDAStream getStreamFromExternal(cudaStream_t stream, DeviceIndex)
{
    return CUDAStream(stream);
}
/** Streams of the pool are made once and handed out in turn. */
inline CUDAStream getStreamFromPool(bool /*high_priority*/ = false, DeviceIndex = -1)
{
    enum { POOL = 4 };
    static cudaStream_t pool[POOL];
    static unsigned next = 0;
    cudaStream_t &stream = pool[next++ % POOL];
    if (stream == nullptr)
        C10_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return CUDAStream(stream);
}

/* There is one device: guards check that it is the one asked for. */
class CUDAGuard
{
    Device device_ = Device(kCUDA, 0);

    void enter(Device device)
    {
        TORCH_CHECK(device.is_cuda(), "a CUDA guard was given the device ", device);
        TORCH_CHECK(device.index() <= 0, "device ", device, " does not exist");
    }

  public:
    explicit CUDAGuard(DeviceIndex index) { enter(Device(kCUDA, index)); }
    explicit CUDAGuard(Device device) { enter(device); }
    CUDAGuard(const CUDAGuard &) = delete;
    CUDAGuard &operator=(const CUDAGuard &) = delete;
    void set_device(Device device) { enter(device); }
    void reset_device(Device device) { enter(device); }
    void set_index(DeviceIndex index) { enter(Device(kCUDA, index)); }
    Device original_device() const { return device_; }
    Device current_device() const { return device_; }
};

class OptionalCUDAGuard
{
  public:
    OptionalCUDAGuard() {}
    explicit OptionalCUDAGuard(optional<Device> device)
    {
        if (device.has_value())
            CUDAGuard check(*device);
    }
    explicit OptionalCUDAGuard(optional<DeviceIndex> index)
    {
        if (index.has_value())
            CUDAGuard check(*index);
    }
    OptionalCUDAGuard(const OptionalCUDAGuard &) = delete;
    OptionalCUDAGuard &operator=(const OptionalCUDAGuard &) = delete;
    void set_device(Device device) { CUDAGuard check(device); }
    void reset_device(Device device) { CUDAGuard check(device); }
    void set_index(DeviceIndex index) { CUDAGuard check(index); }
    void reset() {}
};

class CUDAStreamGuard
{
    CUDAStream before_;

  public:
    explicit CUDAStreamGuard(Stream stream) : before_(getCurrentCUDAStream())
    {
        setCurrentCUDAStream(CUDAStream(stream));
    }
    CUDAStreamGuard(const CUDAStreamGuard &) = delete;
    CUDAStreamGuard &operator=(const CUDAStreamGuard &) = delete;
    ~CUDAStreamGuard() { setCurrentCUDAStream(before_); }
    void reset_stream(Stream stream) { setCurrentCUDAStream(CUDAStream(stream)); }
    CUDAStream original_stream() const { return before_; }
    CUDAStream current_stream() const { return getCurrentCUDAStream(); }
};

class OptionalCUDAStreamGuard
{
    CUDAStream before_;

  public:
    OptionalCUDAStreamGuard() : before_(getCurrentCUDAStream()) {}
    explicit OptionalCUDAStreamGuard(optional<Stream> stream) : before_(getCurrentCUDAStream())
    {
        if (stream.has_value())
            setCurrentCUDAStream(CUDAStream(*stream));
    }
    ~OptionalCUDAStreamGuard() { setCurrentCUDAStream(before_); }
};

namespace CUDACachingAllocator {

inline void *raw_alloc(size_t bytes)
{
    void *pointer = nullptr;
    C10_CUDA_CHECK(cudaMalloc(&pointer, bytes));
    return pointer;
}
inline void *raw_alloc_with_stream(size_t bytes, cudaStream_t)
{
    return raw_alloc(bytes);
}
inline void raw_delete(void *pointer)
{
    C10_CUDA_CHECK(cudaFree(pointer));
}
inline void emptyCache() {}

} // namespace CUDACachingAllocator
} // namespace cuda

class DeviceGuard
{
    Device device_;

  public:
    explicit DeviceGuard(Device device) : device_(device)
    {
        TORCH_CHECK(device.index() <= 0, "device ", device, " does not exist");
    }
    DeviceGuard(const DeviceGuard &) = delete;
    DeviceGuard &operator=(const DeviceGuard &) = delete;
    void reset_device(Device device) { device_ = device; }
    void set_index(DeviceIndex index) { device_.set_index(index); }
    Device original_device() const { return device_; }
    Device current_device() const { return device_; }
};

class OptionalDeviceGuard
{
  public:
    OptionalDeviceGuard() {}
    explicit OptionalDeviceGuard(Device) {}
    explicit OptionalDeviceGuard(optional<Device>) {}
};

/* Autograd does not exist here: its guards are accepted and change nothing. */
struct NoGradGuard {
    NoGradGuard() {}
    ~NoGradGuard() {}
};
struct AutoGradMode {
    explicit AutoGradMode(bool) {}
};
struct InferenceMode {
    explicit InferenceMode(bool = true) {}
};
struct GradMode {
    static bool is_enabled() { return false; }
    static void set_enabled(bool) {}
};

} // namespace c10

namespace at {

inline optional<Device> device_of(const Tensor &tensor)
{
    return tensor.defined() ? optional<Device>(tensor.device()) : nullopt;
}

struct AutoDispatchBelowAutograd {
    AutoDispatchBelowAutograd() {}
    ~AutoDispatchBelowAutograd() {}
};
using AutoNonVariableTypeMode = AutoDispatchBelowAutograd;

/**
 * Library switches. Delegated operators always run with the math modes of the reference; what is
 * set here is only remembered.
 */
class Context
{
    bool tf32_ = false, benchmark_ = false, deterministic_ = true;

  public:
    bool hasCUDA() const { return true; }
    bool hasCuDNN() const { return true; }
    bool userEnabledCuDNN() const { return true; }
    void setUserEnabledCuDNN(bool) {}
    bool benchmarkCuDNN() const { return benchmark_; }
    void setBenchmarkCuDNN(bool value) { benchmark_ = value; }
    bool deterministicCuDNN() const { return deterministic_; }
    void setDeterministicCuDNN(bool value) { deterministic_ = value; }
    bool deterministicAlgorithms() const { return deterministic_; }
    void setDeterministicAlgorithms(bool value, bool = false) { deterministic_ = value; }
    bool allowTF32CuBLAS() const { return tf32_; }
    void setAllowTF32CuBLAS(bool value) { tf32_ = value; }
    bool allowTF32CuDNN() const { return tf32_; }
    void setAllowTF32CuDNN(bool value) { tf32_ = value; }
    bool allowFP16ReductionCuBLAS() const { return false; }
    void setAllowFP16ReductionCuBLAS(bool) {}
};

inline Context &globalContext()
{
    static Context context;
    return context;
}
inline bool hasCUDA()
{
    return true;
}

namespace cuda {

using namespace c10::cuda;

inline cudaDeviceProp *getDeviceProperties(int64_t device)
{
    static cudaDeviceProp properties;
    C10_CUDA_CHECK(cudaGetDeviceProperties(&properties, static_cast<int>(device)));
    return &properties;
}
inline cudaDeviceProp *getCurrentDeviceProperties()
{
    return getDeviceProperties(c10::cuda::current_device());
}
inline int warp_size()
{
    return 32;
}
inline int64_t getNumGPUs()
{
    return c10::cuda::device_count();
}
inline bool is_available()
{
    return c10::cuda::device_count() > 0;
}
template <typename T>
T ATenCeilDiv(T a, T b)
{
    return (a + b - 1) / b;
}

namespace detail {
constexpr int CUDA_NUM_THREADS = 1024;
inline int GET_BLOCKS(int64_t n, int64_t threads = CUDA_NUM_THREADS)
{
    TORCH_CHECK(n > 0, "a kernel was to be launched for no elements");
    return static_cast<int>((n + threads - 1) / threads);
}
} // namespace detail

class CUDAEvent
{
    cudaEvent_t event_ = nullptr;
    unsigned flags_ = cudaEventDisableTiming;

    void create()
    {
        if (event_ == nullptr)
            C10_CUDA_CHECK(cudaEventCreateWithFlags(&event_, flags_));
    }

  public:
    CUDAEvent() {}
    explicit CUDAEvent(unsigned flags) : flags_(flags) {}
    CUDAEvent(const CUDAEvent &) = delete;
    CUDAEvent &operator=(const CUDAEvent &) = delete;
    ~CUDAEvent()
    {
        if (event_ != nullptr)
            (void)cudaEventDestroy(event_);
    }
    operator cudaEvent_t() const { return event_; }
    cudaEvent_t event() const { return event_; }
    bool isCreated() const { return event_ != nullptr; }
    void record() { record(c10::cuda::getCurrentCUDAStream()); }
    void record(const CUDAStream &stream)
    {
        create();
        C10_CUDA_CHECK(cudaEventRecord(event_, stream.stream()));
    }
    void block(const CUDAStream &stream)
    {
        if (event_ != nullptr)
            C10_CUDA_CHECK(cudaStreamWaitEvent(stream.stream(), event_, 0));
    }
    void synchronize() const
    {
        if (event_ != nullptr)
            C10_CUDA_CHECK(cudaEventSynchronize(event_));
    }
    float elapsed_time(const CUDAEvent &other) const
    {
        float ms = 0;
        C10_CUDA_CHECK(cudaEventElapsedTime(&ms, event_, other.event_));
        return ms;
    }
};

} // namespace cuda
} // namespace at
