/**
 * @file journal.h
 * The journal of a run: results/runs/<id>/journal.jsonl, one JSON object a line, append-only, one
 * writer. A line counts once its newline is there.
 *
 * Record types ("type"; readers skip types that they do not know, so new ones may be added):
 *   "run"     first line: {schema: "rkb-journal/1", run, seed, tasks_sha256, …}
 *   "rank"    a rank's facts: {rank, host, facts: {device: {name, kind, …}, compiler, torch, …}};
 *             again after every resume
 *   "result"  {key, attempt, rank, result: {…}}; of several with one key the first counts
 *   "notice"  {kind, path, text}: something the report should tell, such as a file that names no
 *             known task
 *   "end"     {status: "done" | "drained" | …, finished: ISO 8601, wall_s}: one per sitting
 * results/schema/rkb-journal-1.schema.json describes one line.
 */
#ifndef RKB_RESULTS_JOURNAL_H
#define RKB_RESULTS_JOURNAL_H

#include "common/error.h"
#include "common/json.h"

#include <stdbool.h>
#include <stdint.h>

#define RKB_JOURNAL_SCHEMA "rkb-journal/1"

typedef struct rkb_journal rkb_journal_t;

/**
 * Creates <folder>/journal.jsonl, which must not exist (RKB_ERR_EXISTS), with its first record:
 * type "run" and schema as above. An open journal is locked against a second writer.
 */
rkb_status_t rkb_journal_create(const char *folder, const cJSON *run_record, rkb_journal_t **out,
                                rkb_error_t *err);
/**
 * Opens an existing journal for appending. A last line without newline (or one that is no JSON at
 * the very end) is cut off: *cut_bytes tells how much, and the caller says so. A broken line
 * before the end is RKB_ERR_INVALID with its line number and nothing is changed. RKB_ERR_EXISTS
 * while another process writes it.
 */
rkb_status_t rkb_journal_open(const char *folder, rkb_journal_t **out, uint64_t *cut_bytes,
                              rkb_error_t *err);
/** Appends one record; on failure (full disk) the file is truncated back to the last whole line. */
rkb_status_t rkb_journal_append(rkb_journal_t *journal, const cJSON *record, rkb_error_t *err);
/** fdatasync of what was appended since. */
rkb_status_t rkb_journal_sync(rkb_journal_t *journal, rkb_error_t *err);
void rkb_journal_close(rkb_journal_t *journal); /* NULL allowed */

/**
 * Streams the records of <folder>/journal.jsonl in order; a broken tail is skipped (*cut_bytes,
 * may be NULL), a broken middle is RKB_ERR_INVALID with its line. visit returns false to stop
 * early.
 */
typedef bool (*rkb_journal_visit_fn_t)(const cJSON *record, uint64_t line, void *context);
rkb_status_t rkb_journal_read(const char *folder, rkb_journal_visit_fn_t visit, void *context,
                              uint64_t *cut_bytes, rkb_error_t *err);

#endif
