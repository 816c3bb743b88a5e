/**
 * @file commands.h
 * Commands of `rkb` that live in cli/. argv[0] is the command's name; each returns the exit code
 * and has printed its own errors.
 */
#ifndef RKB_CLI_COMMANDS_H
#define RKB_CLI_COMMANDS_H

int rkb_cmd_eval(int argc, char **argv);
int rkb_cmd_serve(int argc, char **argv);
int rkb_cmd_doctor(int argc, char **argv);

#endif
