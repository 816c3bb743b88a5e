/**
 * @file log.h
 * Diagnostics on stderr. Level from RKB_LOG (error|warn|info|debug; default warn). Lines read
 * "rkb-mpi[3]: warn: text"; the tag is set once per process. A line is one write(2), so lines of
 * several processes do not mix. Thread-safe after rkb_log_init().
 */
#ifndef RKB_COMMON_LOG_H
#define RKB_COMMON_LOG_H

typedef enum { RKB_LOG_ERROR, RKB_LOG_WARN, RKB_LOG_INFO, RKB_LOG_DEBUG } rkb_log_level_t;

/** tag: "rkb serve", "rkb-mpi[3]". Copied (63 bytes at most). */
void rkb_log_init(const char *tag);
rkb_log_level_t rkb_log_level(void);
void rkb_log(rkb_log_level_t level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define rkb_error(...) rkb_log(RKB_LOG_ERROR, __VA_ARGS__)
#define rkb_warn(...) rkb_log(RKB_LOG_WARN, __VA_ARGS__)
#define rkb_info(...) rkb_log(RKB_LOG_INFO, __VA_ARGS__)
#define rkb_debug(...) rkb_log(RKB_LOG_DEBUG, __VA_ARGS__)

#endif
