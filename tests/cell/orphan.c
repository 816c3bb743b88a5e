/** Starts a cell that never ends, prints its process number and is killed. */
#include "common/clock.h"
#include "evaluator/cell/cell_host.h"

#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    rkb_cell_pool_t *pool;
    rkb_cell_t *cell;
    rkb_cell_loaded_t loaded;
    rkb_cell_fate_t fate;
    rkb_error_t err = RKB_ERROR_INIT;
    int arena = memfd_create("arena", MFD_CLOEXEC);
    if (argc != 2 || arena < 0 || ftruncate(arena, 1 << 20) != 0)
        return 2;
    if (rkb_cell_pool_create(&pool, &err) != RKB_OK || rkb_cell_pool_take(pool, &cell, &err))
        return rkb_error_print(&err, argv[0]);
    /* The load hangs: the deadline passes while the cell spins, but this process dies first. */
    printf("%d\n", (int)rkb_cell_pid(cell));
    fflush(stdout);
    alarm(1);
    rkb_cell_load(cell, argv[1], "twice", arena, 1 << 20, rkb_clock_now() + 60, &loaded, &fate);
    return 1;
}
