/**
 * @file clock.h
 * Monotonic seconds for intervals and deadlines; wall time for people. Thread-safe.
 */
#ifndef RKB_COMMON_CLOCK_H
#define RKB_COMMON_CLOCK_H

#include <stddef.h>

/** Seconds of CLOCK_MONOTONIC. */
double rkb_clock_now(void);
void rkb_clock_sleep(double seconds);
/** "2026-12-01T14:30:46Z", current time; buf of 21 bytes or more. */
const char *rkb_clock_iso8601(char *buf, size_t size);

#endif
