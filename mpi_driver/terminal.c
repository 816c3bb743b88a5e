#include "mpi_driver/terminal.h"

#include "common/file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { DEFAULT_WIDTH = 80 };

static int width_of(int fd)
{
    struct winsize size;
    if (!isatty(fd)) {
        return 0;
    }
    return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col : DEFAULT_WIDTH;
}

int rkb_terminal_width(FILE *out)
{
    int fd = fileno(out);
    if (getenv("OMPI_COMM_WORLD_SIZE") == NULL || (fd != STDOUT_FILENO && fd != STDERR_FILENO)) {
        return width_of(fd);
    }
    /* Only a terminal's name is opened: opening a pipe or file anew could disturb it. */
    char *link = rkb_strf("/proc/%d/fd/%d", (int)getppid(), fd), target[64];
    ssize_t len = readlink(link, target, sizeof(target) - 1);
    free(link);
    target[len > 0 ? len : 0] = '\0';
    if (strncmp(target, "/dev/pts/", 9) != 0 && strncmp(target, "/dev/tty", 8) != 0) {
        return 0;
    }
    int terminal = open(target, O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    int width = terminal >= 0 ? width_of(terminal) : 0;
    if (terminal >= 0) {
        close(terminal);
    }
    return width;
}
