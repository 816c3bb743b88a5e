#include "common/clock.h"

#include <errno.h>
#include <math.h>
#include <time.h>

double rkb_clock_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void rkb_clock_sleep(double seconds)
{
    if (!(seconds > 0))
        return;
    double whole = floor(seconds);
    struct timespec left = {.tv_sec = (time_t)whole, .tv_nsec = (long)((seconds - whole) * 1e9)};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

const char *rkb_clock_iso8601(char *buf, size_t size)
{
    time_t now = time(NULL);
    struct tm utc;
    gmtime_r(&now, &utc);
    if (strftime(buf, size, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0 && size > 0)
        buf[0] = '\0';
    return buf;
}
