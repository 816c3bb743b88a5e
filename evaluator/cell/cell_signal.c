#include "evaluator/cell/cell_internal.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#ifdef RKB_SANITIZED
#include <sanitizer/asan_interface.h>
#include <stdio.h>
#include <string.h>
#endif

enum { SIGNAL_STACK = 64 * 1024 };

static rkb_cell_status_t *status_page;
static unsigned char signal_stack[SIGNAL_STACK] __attribute__((aligned(64)));

/* SA_RESETHAND has put the default action back and SA_NODEFER leaves the signal open, so raise()
 * ends the process. */
static void handle(int number, siginfo_t *info, void *context)
{
    (void)context;
    status_page->signal = number;
    if (number == SIGSYS)
        status_page->fault_address = (uint64_t)info->si_syscall;
    else if (number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL)
        status_page->fault_address = (uint64_t)(uintptr_t)info->si_addr;
    raise(number);
    _exit(128 + number);
}

#ifdef RKB_SANITIZED
/* The first line of a report says what was touched; AddressSanitizer aborts afterwards. */
static void keep_report(const char *report)
{
    const char *line = strstr(report, "AddressSanitizer");
    if (!line || strstr(status_page->text, "AddressSanitizer"))
        return;
    snprintf(status_page->text, sizeof status_page->text, "%.*s", (int)strcspn(line, "\n"), line);
}
#endif

void rkb_cell_watch_signals(rkb_cell_status_t *page)
{
    static const int watched[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    status_page = page;
#ifdef RKB_SANITIZED
    __asan_set_error_report_callback(keep_report);
#endif
    stack_t stack = {.ss_sp = signal_stack, .ss_size = sizeof signal_stack};
    sigaltstack(&stack, NULL);
    struct sigaction action = {.sa_sigaction = handle,
                               .sa_flags =
                                   SA_SIGINFO | SA_ONSTACK | (int)SA_RESETHAND | SA_NODEFER};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof watched / sizeof *watched; i++)
        sigaction(watched[i], &action, NULL);
}
