/**
 * @file terminal.h
 * Whether a person is looking. mpirun gives its ranks pipes and pseudo-terminals of its own,
 * whatever its output really is, so the launcher's descriptors are looked at where it is the
 * parent.
 */
#ifndef RKB_DRIVER_TERMINAL_H
#define RKB_DRIVER_TERMINAL_H

#include <stdio.h>

/** Columns of the terminal that out (stdout, stderr or a file) leads to; 0: it is none. */
int rkb_terminal_width(FILE *out);

#endif
