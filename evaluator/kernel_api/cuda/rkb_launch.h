/**
 * @file rkb_launch.h
 * Launches of kernels. The rewriter turns `k<<<g, b, s>>>(args)` into
 * `(::rkb::launch_scope(g, b, s), k(args))` and wraps the body of each kernel into
 * `::rkb::run(kernel, name, [=]() mutable { body })`. So k(args) is an ordinary call that copies
 * its arguments by the rules of the language and then runs the body once for each thread of the
 * grid that the scope has announced.
 */
#ifndef RKB_CUDA_LAUNCH_H
#define RKB_CUDA_LAUNCH_H

#include "driver_types.h"

#include <exception>
#include <type_traits>
#include <utility>

namespace rkb
{

/** What is remembered of a kernel between launches; one for each instance of a template. */
struct kernel {
    unsigned max_threads = 1024; /* of a block: __launch_bounds__ */
    size_t shared_limit = RKB_SHARED_DEFAULT;
};

class launch_scope;
inline launch_scope *pending = nullptr; /* innermost scope */

class launch_scope
{
  public:
    launch_scope(dim3 grid_, dim3 block_, size_t shared_ = 0, cudaStream_t = nullptr)
        : grid(grid_), block(block_), shared(shared_)
    {
        enter();
    }
    /** Asks a kernel for its identity instead of launching it. */
    launch_scope() : query(true)
    {
        enter();
    }
    ~launch_scope()
    {
        pending = outer;
        if (!used && std::uncaught_exceptions() == exceptions)
            rkb_rt_unsupported("a launch of something that is not known to be a kernel");
    }
    launch_scope(const launch_scope &) = delete;
    launch_scope &operator=(const launch_scope &) = delete;

    dim3 grid, block;
    size_t shared = 0;
    bool query = false;
    bool used = false;
    kernel *identity = nullptr;
    int error = 0;

  private:
    void enter()
    {
        outer = pending;
        pending = this;
        exceptions = std::uncaught_exceptions();
    }
    launch_scope *outer;
    int exceptions;
};

/* One CUDA thread. noexcept: an exception in device code must not unwind the scheduler's stacks. */
template <class F>
void run_thread(void *body) noexcept
{
    F own(*static_cast<F *>(body));
    own();
}

template <class F>
inline void run(kernel &self, const char *name, F body)
{
    launch_scope *scope = pending;
    if (!scope || scope->used)
        rkb_rt_unsupported("a __global__ function called like any other");
    scope->used = true;
    scope->identity = &self;
    if (scope->query)
        return;
    uint64_t threads = uint64_t(scope->block.x) * scope->block.y * scope->block.z;
    bool bounded = threads > self.max_threads && threads <= 1024; /* else it is no block at all */
    if (scope->shared > self.shared_limit || bounded)
        scope->error = rkb_rt_refuse_launch(name, cudaErrorInvalidValue);
    else
        scope->error =
            rkb_rt_launch(name, scope->grid, scope->block, scope->shared, &run_thread<F>, &body);
}

/** The kernel behind a function pointer: it is called with zeros in a scope that only asks. */
template <class... P>
kernel &identify(void (*function)(P...))
{
    alignas(64) static unsigned char zeros[4096];
    static_assert(((sizeof(P) <= sizeof zeros) && ...), "a kernel's parameters fit in 4 KB");
    launch_scope scope;
    function(*reinterpret_cast<std::decay_t<P> *>(zeros)...);
    return *scope.identity;
}

template <class... P, size_t... I>
cudaError_t launch_packed(launch_scope &scope, void (*function)(P...), void **arguments,
                          std::index_sequence<I...>)
{
    (void)arguments;
    function(*static_cast<std::decay_t<P> *>(arguments[I])...);
    return static_cast<cudaError_t>(scope.error);
}

} // namespace rkb

/** After the declaration of a block-shared variable: fresh memory in each block. */
#define RKB_SHARED_ENTER(_variable)                                                                \
    do {                                                                                           \
        static unsigned long long rkb_serial;                                                      \
        static_assert(sizeof(_variable) <= RKB_SHARED_DEFAULT,                                     \
                      "more than 48 KiB of static shared memory");                                 \
        if (rkb_serial != ::rkb_rt_block_serial) {                                                 \
            rkb_serial = ::rkb_rt_block_serial;                                                    \
            ::rkb_rt_shared_enter((void *)&(_variable), sizeof(_variable));                        \
        }                                                                                          \
    } while (0);

#endif
