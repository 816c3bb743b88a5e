/* What the end of an exchange means for the candidate. Pure. */
#include "evaluator/cell/cell_host.h"

#include "evaluator/device/cpu/model.h"

#include <inttypes.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- where it was ---- */

typedef struct {
    char text[RKB_CELL_NAME + 128];
} place_t;

static const char *kernel_name(const rkb_cell_status_t *status)
{
    return status->kernel[0] ? status->kernel : "?";
}

static place_t place_of(const rkb_cell_status_t *status, rkb_cell_during_t during)
{
    place_t place;
    switch (status->phase) {
    case RKB_PHASE_KERNEL:
        snprintf(place.text, sizeof place.text, "in kernel %s, block (%u,%u,%u), thread (%u,%u,%u)",
                 kernel_name(status), status->block.x, status->block.y, status->block.z,
                 status->thread.x, status->thread.y, status->thread.z);
        break;
    case RKB_PHASE_HOST:
        snprintf(place.text, sizeof place.text, "in its host code");
        break;
    case RKB_PHASE_START:
    case RKB_PHASE_LOAD:
        snprintf(place.text, sizeof place.text, "while it was loaded");
        break;
    default:
        snprintf(place.text, sizeof place.text, "%s",
                 during == RKB_DURING_LOAD ? "while it was loaded" : "between two calls");
        break;
    }
    return place;
}

/* ---- signals ---- */

static const char *signal_name(int number)
{
    const char *name = sigabbrev_np(number);
    return name ? name : "?";
}

static rkb_verdict_t forbidden_call(const rkb_cell_status_t *status, const place_t *place,
                                    rkb_finding_t *finding)
{
    char *name = NULL;
    if (status->signal == SIGSYS && status->fault_address < 4096)
        name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, (int)status->fault_address);
    rkb_finding_set(finding, RKB_VERDICT_TAMPERING,
                    "the candidate asked the system for what no kernel needs (%s) %s and was ended",
                    name ? name : "a forbidden call", place->text);
    free(name);
    return RKB_VERDICT_TAMPERING;
}

static rkb_verdict_t signal_verdict(const rkb_cell_fate_t *fate, const place_t *place,
                                    rkb_finding_t *finding)
{
    const rkb_cell_status_t *status = &fate->status;
    int number = fate->code;
    bool kernel = status->phase == RKB_PHASE_KERNEL;
    char address[48] = "";
    if (status->signal == number && (number == SIGSEGV || number == SIGBUS))
        snprintf(address, sizeof address, " at address 0x%" PRIx64, status->fault_address);
    if (number == SIGSYS)
        return forbidden_call(status, place, finding);
    if (number == SIGABRT && strstr(status->text, "AddressSanitizer"))
        return rkb_finding_set(finding, kernel ? RKB_VERDICT_ILLEGAL_ACCESS : RKB_VERDICT_CRASH,
                               "%s, %s", status->text, place->text);
    if (kernel && (number == SIGSEGV || number == SIGBUS))
        return rkb_finding_set(finding, RKB_VERDICT_ILLEGAL_ACCESS, "illegal memory access %s%s",
                               place->text, address);
    if (kernel && number == SIGFPE)
        return rkb_finding_set(finding, RKB_VERDICT_LAUNCH_FAILURE, "integer division by zero %s",
                               place->text);
    if (kernel && (number == SIGABRT || number == SIGTRAP || number == SIGILL))
        return rkb_finding_set(finding, RKB_VERDICT_LAUNCH_FAILURE,
                               "the kernel gave up (assert or trap, SIG%s) %s", signal_name(number),
                               place->text);
    if (number == SIGKILL)
        return rkb_finding_set(
            finding, RKB_VERDICT_CRASH,
            "the candidate was killed %s; the system may have been out of memory", place->text);
    return rkb_finding_set(finding, RKB_VERDICT_CRASH, "signal %d (%s)%s %s", number,
                           strsignal(number), address, place->text);
}

/* ---- exits ---- */

enum { TRAP_DEVICE = 1, TRAP_UNSUPPORTED, TRAP_DEADLOCK };

static rkb_verdict_t exit_verdict(const rkb_cell_fate_t *fate, const place_t *place,
                                  rkb_finding_t *finding)
{
    const rkb_cell_status_t *status = &fate->status;
    if (fate->code == RKB_CPU_MODEL_EXIT && status->text[0]) {
        switch (status->trap) {
        case TRAP_UNSUPPORTED:
            return rkb_finding_set(finding, RKB_VERDICT_UNSUPPORTED,
                                   "this device cannot run it: %s", status->text);
        case TRAP_DEVICE:
        case TRAP_DEADLOCK:
            return rkb_finding_set(finding, RKB_VERDICT_LAUNCH_FAILURE, "%s", status->text);
        default:
            break;
        }
    }
    return rkb_finding_set(finding, RKB_VERDICT_CRASH,
                           "the candidate ended its process with exit code %d %s", fate->code,
                           place->text);
}

rkb_verdict_t rkb_cell_fate_verdict(const rkb_cell_fate_t *fate, rkb_cell_during_t during,
                                    rkb_finding_t *finding)
{
    place_t place = place_of(&fate->status, during);
    switch (fate->kind) {
    case RKB_FATE_OK:
        return rkb_finding_set(finding, RKB_VERDICT_OK, "%s", "");
    case RKB_FATE_EXITED:
        return exit_verdict(fate, &place, finding);
    case RKB_FATE_SIGNALED:
        return signal_verdict(fate, &place, finding);
    case RKB_FATE_TIMED_OUT:
        return rkb_finding_set(finding, RKB_VERDICT_TIMEOUT,
                               "still running at its limit of %.3g s, %s", fate->limit, place.text);
    case RKB_FATE_PROTOCOL:
        return rkb_finding_set(finding, RKB_VERDICT_TAMPERING,
                               "the candidate interfered with its cell: %s", fate->text);
    case RKB_FATE_OURS:
        return rkb_finding_set(finding, RKB_VERDICT_INFRA_ERROR, "cell: %s", fate->text);
    }
    return rkb_finding_set(finding, RKB_VERDICT_INFRA_ERROR, "cell: unknown fate");
}

/* ---- calls that came back ---- */

typedef struct {
    int number;
    const char *name, *text;
} cuda_error_row_t;

static const cuda_error_row_t cuda_errors[] = {
    {1, "cudaErrorInvalidValue", "invalid argument"},
    {2, "cudaErrorMemoryAllocation", "out of memory"},
    {9, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {98, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {209, "cudaErrorNoKernelImageForDevice", "no kernel image for this device"},
    {400, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {700, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {701, "cudaErrorLaunchOutOfResources", "too many resources requested for launch"},
    {702, "cudaErrorLaunchTimeout", "the launch timed out"},
    {710, "cudaErrorAssert", "device-side assert triggered"},
    {716, "cudaErrorMisalignedAddress", "misaligned address"},
    {719, "cudaErrorLaunchFailure", "unspecified launch failure"},
};

enum { CUDA_OUT_OF_MEMORY = 2 };

static rkb_verdict_t launch_verdict(const rkb_cell_returned_t *returned, rkb_finding_t *finding)
{
    const char *name = "unknown CUDA error", *text = "";
    for (size_t i = 0; i < sizeof cuda_errors / sizeof *cuda_errors; i++) {
        if (cuda_errors[i].number == returned->cuda_error) {
            name = cuda_errors[i].name;
            text = cuda_errors[i].text;
        }
    }
    return rkb_finding_set(finding,
                           returned->cuda_error == CUDA_OUT_OF_MEMORY ? RKB_VERDICT_OUT_OF_MEMORY
                                                                      : RKB_VERDICT_LAUNCH_FAILURE,
                           "the launch of kernel %s failed: error %d, %s%s%s",
                           returned->kernel[0] ? returned->kernel : "?", (int)returned->cuda_error,
                           name, text[0] ? ": " : "", text);
}

rkb_verdict_t rkb_cell_returned_verdict(const rkb_cell_returned_t *returned, rkb_finding_t *finding)
{
    const char *text = returned->text[0] ? returned->text : "(no message)";
    switch (returned->status) {
    case RKB_CALL_BAD_SIGNATURE:
        return rkb_finding_set(finding, RKB_VERDICT_BAD_SIGNATURE, "%s", text);
    case RKB_CALL_UNSUPPORTED:
        return rkb_finding_set(finding, RKB_VERDICT_UNSUPPORTED, "%s", text);
    default:
        break;
    }
    /* A candidate that checks its launches throws because of the error, which says more. */
    if (returned->cuda_error != 0)
        return launch_verdict(returned, finding);
    if (returned->status == RKB_CALL_EXCEPTION) {
        /* The runtime's own words, see rkb_rt_tensor_empty() and rkb_rt_device_alloc(). */
        bool memory = strstr(text, "out of memory") || strstr(text, "out of CUDA memory");
        return rkb_finding_set(finding, memory ? RKB_VERDICT_OUT_OF_MEMORY : RKB_VERDICT_EXCEPTION,
                               "%s", text);
    }
    return rkb_finding_set(finding, RKB_VERDICT_OK, "%s", "");
}
