/** Runs a program on a kernel that seems to lack Landlock. */
#include <errno.h>
#include <seccomp.h>
#include <stdio.h>
#include <unistd.h>

enum { CREATE_RULESET = 444 }; /* the same number on every architecture */

int main(int argc, char **argv)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    if (argc < 2 || !filter ||
        seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), CREATE_RULESET, 0) != 0 ||
        seccomp_load(filter) != 0) {
        fprintf(stderr, "cannot hide Landlock here\n");
        return 77;
    }
    seccomp_release(filter);
    execv(argv[1], argv + 1);
    perror(argv[1]);
    return 1;
}
