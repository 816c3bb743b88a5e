/** Stands in for rkb-cell and does not do as the protocol says: MODE hangs, leaves or is of another
 * version. */
#include "evaluator/cell/protocol.h"

#include <sys/socket.h>
#include <unistd.h>

enum { HANGS, LEAVES, OTHER_VERSION, OTHER_ABI, OVERTAKES };

int main(void)
{
    rkb_cell_hello_t hello = {.header = {RKB_CELL_MAGIC, RKB_CELL_VERSION + (MODE == OTHER_VERSION),
                                         RKB_CELL_HELLO, sizeof hello},
                              .abi = RKB_ABI_VERSION + (MODE == OTHER_ABI)};
    if (MODE == LEAVES)
        return 3;
    if (MODE != HANGS)
        send(RKB_CELL_FD_SOCKET, &hello, sizeof hello, 0);
    if (MODE == OVERTAKES) /* a message before it was asked for */
        send(RKB_CELL_FD_SOCKET, &hello, sizeof hello, 0);
    for (;;)
        pause();
}
