/** @file cmd_report.h  `rkb report`: shows the report of a run, made anew when it is out of date.
 */
#ifndef RKB_RESULTS_CMD_REPORT_H
#define RKB_RESULTS_CMD_REPORT_H

/** argv[0] is the command's own name. Returns the exit code. */
int rkb_cmd_report(int argc, char **argv);

#endif
