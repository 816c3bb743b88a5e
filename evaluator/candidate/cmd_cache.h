/**
 * @file cmd_cache.h
 * `rkb cache info|clear|path`.
 */
#ifndef RKB_CANDIDATE_CMD_CACHE_H
#define RKB_CANDIDATE_CMD_CACHE_H

/** argv[0] is "cache". Returns the exit code. */
int rkb_cmd_cache(int argc, char **argv);

#endif
