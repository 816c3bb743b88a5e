#include "driver_job.h"

#include "common/clock.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* Ranks in this process, evaluators as children: what happens between them. */

static void assert_same_results(const char *a, const char *b)
{
    char *x = job_results(a), *y = job_results(b);
    assert_string_equal(x, y);
    free(x);
    free(y);
}

static char *path_in(const char *name, const char *file)
{
    return rkb_strf("%s/%s/%s", job_scratch(), name, file);
}

static void assert_detail(const char *name, const char *config, const char *part)
{
    char *detail = job_member(name, config, "detail");
    assert_contains(detail, part);
    free(detail);
}

static void test_any_number_of_ranks_gives_the_same_results(void **state)
{
    (void)state;
    assert_int_equal(job_run(1, "np1", "items=30 notices=2"), 0);
    assert_int_equal(job_run(4, "np4", "items=30 notices=2"), 0);
    assert_int_equal(job_run(7, "np7", "items=30 notices=2"), 0);
    assert_int_equal(job_count("np1", "result", NULL), 30);
    assert_same_results("np1", "np4");
    assert_same_results("np1", "np7");
    int ranks = job_count("np7", "rank", NULL); /* late ones may find nothing left to do */
    assert_true(ranks >= 1 && ranks <= 7);
    assert_int_equal(job_count("np7", "notice", NULL), 2);
    assert_int_equal(job_count("np7", "end", NULL), 1);
    char *report = path_in("np7", "report.json");
    assert_true(rkb_file_exists(report));
    free(report);
}

static void test_more_ranks_than_items(void **state)
{
    (void)state;
    assert_int_equal(job_run(8, "few", "items=2"), 0);
    assert_int_equal(job_count("few", "result", NULL), 2);
}

static void test_a_slow_start_delays_nothing_else(void **state)
{
    (void)state;
    assert_int_equal(job_run(2, "slow", "items=6 start=0.1"), 0);
    assert_int_equal(job_count("slow", "result", NULL), 6);
}

static void test_two_items_with_one_key_are_one(void **state)
{
    (void)state;
    assert_int_equal(job_run(2, "same", "items=10 same=7"), 0);
    assert_int_equal(job_count("same", "result", NULL), 9);
}

static void test_an_evaluator_that_dies_once_costs_nothing(void **state)
{
    (void)state;
    assert_int_equal(job_run(2, "once", "items=12 crash_once=5"), 0);
    assert_int_equal(job_count("once", "result", NULL), 12);
    assert_int_equal(job_count("once", "result", "infra_error"), 0);
    assert_int_equal(job_run(2, "idle", "items=12 die_after=5"), 0);
    assert_int_equal(job_count("idle", "result", "infra_error"), 0);
}

static void test_an_item_that_kills_its_evaluator_is_not_the_candidates_fault(void **state)
{
    (void)state;
    assert_int_equal(job_run(2, "crash", "items=12 crash=5"), 4);
    assert_int_equal(job_count("crash", "result", NULL), 12);
    assert_int_equal(job_count("crash", "result", "infra_error"), 1);
    assert_detail("crash", "n=5", "failed 2 times");
    assert_detail("crash", "n=5", "signal 6");
    char *task = job_member("crash", "n=5", "task");
    assert_string_equal(task, "fake/task2");
    free(task);
}

static void test_an_evaluator_that_breaks_the_protocol_is_replaced(void **state)
{
    (void)state;
    assert_int_equal(job_run(1, "broken", "items=12 garbage=2 wrong_id=6 no_verdict=9"), 4);
    assert_int_equal(job_count("broken", "result", NULL), 12);
    assert_int_equal(job_count("broken", "result", "infra_error"), 3);
    assert_detail("broken", "n=2", "no JSON object");
    assert_detail("broken", "n=6", "not asked for");
}

static void test_an_evaluator_that_hangs_is_killed_in_the_end(void **state)
{
    (void)state;
    job_t job;
    job_init(&job, 2, "hang", "items=8 hang=3 hang_once=6");
    job.speed = 1;
    job_start(&job);
    assert_int_equal(job_finish(&job), 4);
    assert_int_equal(job_count("hang", "result", NULL), 8);
    assert_int_equal(job_count("hang", "result", "infra_error"), 1);
    assert_detail("hang", "n=3", "no answer within 780 s");
}

static void test_a_rank_that_eats_items_is_taken_out(void **state)
{
    (void)state;
    /* Rank 1's evaluator dies over everything; it must not spoil the others' items. */
    job_t job;
    job_init(&job, 2, "eater", "items=40 seconds=0.005 crash_rank=1");
    job_start(&job);
    int code = job_finish(&job);
    assert_int_equal(job_count("eater", "result", NULL), 40);
    int spoiled = job_count("eater", "result", "infra_error");
    assert_true(spoiled <= 2);
    assert_int_equal(code, spoiled > 0 ? 4 : 0);
    assert_contains(job_messages(), "rank 1");
    assert_contains(job_messages(), "4 times in a row");
}

static void test_messages_have_a_bound(void **state)
{
    (void)state;
    assert_int_equal(job_run(2, "big", "items=8 big=1 huge=2"), 4);
    assert_int_equal(job_count("big", "result", NULL), 8);
    char *verdict = job_member("big", "n=1", "verdict"), *log = job_member("big", "n=1", "log");
    assert_string_equal(verdict, "ok");
    assert_true(strlen(log) < 4000);
    free(verdict);
    free(log);
    assert_detail("big", "n=2", "longer than the driver can send");
}

static void test_a_rank_without_device_is_reported_and_the_run_goes_on(void **state)
{
    (void)state;
    assert_int_equal(job_run(3, "norank0", "items=9 refuse=no_GPU refuse_rank=0"), 0);
    assert_contains(job_messages(), "rank 0: no GPU");
    assert_int_equal(job_count("norank0", "result", NULL), 9);
    assert_int_equal(job_count("norank0", "notice", NULL), 1);
    assert_int_equal(job_count("norank0", "rank", NULL), 2);
}

static void test_no_device_at_all(void **state)
{
    (void)state;
    assert_int_equal(job_run(3, "none", "items=9 refuse=no_GPU start=0.01"), 3);
    assert_contains(job_messages(), "none of 3 ranks can work: no GPU");
}

static void test_foreign_evaluators_are_named(void **state)
{
    (void)state;
    /* 4 when the planner is found out first, 3 when no rank is left before that. */
    int code = job_run(2, "foreign", "protocol=2 version=9.9");
    assert_true(code == 4 || code == 3);
    assert_contains(job_messages(),
                    "(rkb 9.9) speaks protocol 2, this driver (rkb " RKB_VERSION ") 1");
}

static void test_a_plan_that_fails_leaves_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *text;
        int code;
    } rows[] = {{"plan_error=no_such_folder", "no such folder", 2},
                {"items=0", "nothing to judge", 2},
                {"items=5 miscount=1", "counts 6 items in its plan but sent 5", 4}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        assert_int_equal(job_run(2, "noplan", rows[i].spec), rows[i].code);
        assert_contains(job_messages(), rows[i].text);
        char *folder = path_in("noplan", "");
        assert_false(rkb_file_exists(folder));
        free(folder);
    }
}

/* ---- lost ranks ---- */

/* Steps until the fake evaluator of some rank has begun this item; returns the rank. */
static int wait_for_eval(job_t *job, const char *log, int item)
{
    double limit = rkb_clock_now() + 20;
    while (rkb_clock_now() < limit) {
        job_step(job);
        FILE *file = fopen(log, "r");
        int rank, begun;
        while (file != NULL && fscanf(file, "%d %d", &rank, &begun) == 2) {
            if (begun == item && job->ranks[rank] != NULL) {
                fclose(file);
                return rank;
            }
        }
        if (file != NULL) {
            fclose(file);
        }
    }
    fail_msg("item %d is never begun", item);
    return -1;
}

static void test_a_lost_ranks_items_are_done_by_others(void **state)
{
    (void)state;
    job_t job;
    char *log = rkb_strf("%s/lost.log", job_scratch());
    char *spec = rkb_strf("items=24 hang_once=9 refuse=none_here refuse_rank=0 log=%s", log);
    job_init(&job, 3, "lost", spec);
    job_start(&job);
    int rank = wait_for_eval(&job, log, 9);
    job_kill_rank(&job, rank);
    job.speed = 0.5;
    assert_int_equal(job_finish(&job), 0);
    assert_false(job.departures[0].finalize);
    assert_contains(job_messages(), "lost: it has been silent");
    assert_int_equal(job_count("lost", "result", NULL), 24);
    assert_int_equal(job_count("lost", "result", "crash"), 0);
    char *attempt = job_member("lost", "n=9", "attempt");
    assert_string_equal(attempt, "2");
    free(attempt);
    free(spec);
    free(log);
}

static void test_an_item_that_loses_two_ranks_is_a_crash(void **state)
{
    (void)state;
    job_t job;
    char *log = rkb_strf("%s/crash2.log", job_scratch());
    char *spec = rkb_strf("items=24 hang=9 refuse=none_here refuse_rank=0 log=%s", log);
    job_init(&job, 4, "crash2", spec);
    job_start(&job);
    for (int i = 0; i < 2; i++) {
        int rank = wait_for_eval(&job, log, 9);
        job_kill_rank(&job, rank);
        job.speed = 0.5; /* the next one gets the item when the lease has ended */
    }
    assert_int_equal(job_finish(&job), 0);
    assert_int_equal(job_count("crash2", "result", NULL), 24);
    assert_int_equal(job_count("crash2", "result", "crash"), 1);
    assert_detail("crash2", "n=9", "not tried again");
    free(spec);
    free(log);
}

static void test_a_rank_that_was_given_up_may_come_back_but_gets_nothing(void **state)
{
    (void)state;
    job_t job;
    job_init(&job, 2, "back", "items=16 seconds=0.01");
    job_start(&job);
    for (int i = 0; i < 40; i++) {
        job_step(&job);
    }
    job.frozen[1] = true;
    job.speed = 1;
    for (int i = 0; i < 70; i++) {
        job_step(&job);
    }
    job.frozen[1] = false;
    job.speed = 0;
    assert_int_equal(job_finish(&job), 0);
    assert_true(job.departures[0].finalize); /* all have said goodbye after all */
    assert_true(job.departed[1]);
    assert_contains(job_messages(), "is back");
    assert_int_equal(job_count("back", "result", NULL), 16);
}

static void test_ranks_leave_when_rank_0_is_silent(void **state)
{
    (void)state;
    job_t job;
    job_init(&job, 2, "orphan", "items=16 seconds=0.05");
    job_start(&job);
    for (int i = 0; i < 40; i++) {
        job_step(&job);
    }
    job.frozen[0] = true;
    job.speed = 1;
    for (int i = 0; i < 55; i++) {
        job_step(&job);
    }
    assert_false(job.departed[1]);
    for (int i = 0; i < 10; i++) {
        job_step(&job);
    }
    assert_true(job.departed[1]);
    assert_int_equal(job.departures[1].code, 4);
    assert_false(job.departures[1].finalize);
    job_kill(&job);
}

static void test_a_suspended_job_misses_no_deadline(void **state)
{
    (void)state;
    job_t job;
    job_init(&job, 2, "suspended", "items=8 seconds=0.02");
    job_start(&job);
    for (int i = 0; i < 30; i++) {
        job_step(&job);
    }
    job.speed = 3600; /* Ctrl-Z, an hour, fg */
    job_step(&job);
    job.speed = 0;
    assert_int_equal(job_finish(&job), 0);
    assert_true(job.departures[1].finalize);
    assert_int_equal(job_count("suspended", "result", "infra_error"), 0);
}

static void test_messages_that_make_no_sense_are_ignored(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "[]",
        "{",
        "\"op\"",
        "{\"op\":7}",
        "{\"op\":\"result\"}",
        "{\"op\":\"rm -rf\"}",
        "{\"op\":\"result\",\"item\":0,\"attempt\":99,\"result\":{\"verdict\":\"ok\"}}",
        "{\"op\":\"result\",\"item\":4e9,\"attempt\":1,\"result\":{\"verdict\":\"ok\"}}",
        "{\"op\":\"result\",\"item\":-1,\"attempt\":1}",
        "{\"op\":\"ready\"}",
        "{\"op\":\"assign\",\"item\":0,\"attempt\":1}",
        "{\"op\":\"exit\",\"code\":0}",
        "{\"op\":\"stop\",\"now\":true}",
        "{\"op\":\"start\"}",
        "{\"op\":\"ack\"}"};
    job_t job;
    job_init(&job, 3, "noise", "items=12 seconds=0.01");
    job_start(&job);
    for (int i = 0; i < 30; i++) {
        job_step(&job);
    }
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        /* Rank 2 gives orders that only rank 0 may give, and rubbish to all. */
        for (int dest = 0; dest < 2; dest++) {
            job.transports[2]->ops->send(job.transports[2], dest, texts[i], strlen(texts[i]), NULL);
        }
        job_step(&job);
    }
    assert_int_equal(job_finish(&job), 0);
    assert_int_equal(job_count("noise", "result", NULL), 12);
    assert_same_results("noise", "noise");
}

/* ---- ending and going on ---- */

static void step_until_results(job_t *job, const char *name, int wanted)
{
    char *journal = path_in(name, "journal.jsonl");
    double limit = rkb_clock_now() + 20;
    while (rkb_clock_now() < limit &&
           (!rkb_file_exists(journal) || job_count(name, "result", NULL) < wanted)) {
        job_step(job);
    }
    free(journal);
}

static void test_a_drained_run_goes_on_where_it_stopped(void **state)
{
    (void)state;
    job_t job;
    assert_int_equal(job_run(2, "whole", "items=30 notices=1"), 0);
    job_init(&job, 3, "drained", "items=30 notices=1 seconds=0.01");
    job_start(&job);
    step_until_results(&job, "drained", 5);
    rkb_rank_signal(job.ranks[1], 1); /* any rank may be told; mpirun tells all */
    rkb_rank_signal(job.ranks[0], 1);
    rkb_rank_signal(job.ranks[2], 1);
    assert_int_equal(job_finish(&job), 75);
    assert_true(job.departures[2].finalize);
    assert_contains(job_messages(), "--resume");
    int done = job_count("drained", "result", NULL);
    assert_in_range(done, 5, 29);
    assert_int_equal(job_resume(2, "drained", "items=30 notices=1"), 0);
    assert_same_results("drained", "whole");
    assert_int_equal(job_count("drained", "notice", NULL), 1);
    assert_int_equal(job_count("drained", "end", NULL), 2);
}

static void test_the_second_signal_stops_at_once(void **state)
{
    (void)state;
    job_t job;
    job_init(&job, 2, "atonce", "items=20 hang=3 hang=7 seconds=0.01");
    job_start(&job);
    step_until_results(&job, "atonce", 3);
    rkb_rank_signal(job.ranks[0], 1);
    for (int i = 0; i < 20; i++) {
        job_step(&job);
    }
    rkb_rank_signal(job.ranks[0], 2);
    assert_int_equal(job_finish(&job), 75);
    assert_true(job_count("atonce", "result", NULL) >= 3);
    assert_int_equal(job_resume(2, "atonce", "items=20"), 0);
    assert_int_equal(job_count("atonce", "result", NULL), 20);
}

static void test_draining_before_the_plan_leaves_nothing(void **state)
{
    (void)state;
    job_t job;
    job_init(&job, 2, "early", "items=20 start=0.2");
    job_start(&job);
    job_step(&job);
    rkb_rank_signal(job.ranks[0], 1);
    assert_int_equal(job_finish(&job), 75);
    char *folder = path_in("early", "");
    assert_false(rkb_file_exists(folder));
    free(folder);
}

static void test_a_killed_job_goes_on_from_any_moment(void **state)
{
    (void)state;
    assert_int_equal(job_run(2, "calm", "items=30"), 0);
    for (int steps = 0; steps < 400; steps += 13) {
        job_t job;
        char name[32];
        snprintf(name, sizeof(name), "killed%d", steps);
        job_init(&job, 3, name, "items=30 seconds=0.001");
        job_start(&job);
        for (int i = 0; i < steps && job.ranks[0] != NULL; i++) {
            job_step(&job);
        }
        job_kill(&job);
        assert_int_equal(job_resume(2, name, "items=30"), 0);
        assert_same_results(name, "calm");
    }
}

static void test_a_broken_tail_is_cut_and_its_item_judged_again(void **state)
{
    (void)state;
    assert_int_equal(job_run(1, "tail", "items=10"), 0);
    assert_int_equal(job_run(1, "tail2", "items=10"), 0);
    char *journal = path_in("tail2", "journal.jsonl");
    struct stat st;
    assert_int_equal(stat(journal, &st), 0);
    for (int cut = 1; cut < 2500; cut += 137) {
        assert_int_equal(truncate(journal, st.st_size - cut), 0);
        assert_int_equal(job_resume(1, "tail2", "items=10"), 0);
        assert_same_results("tail", "tail2");
        assert_int_equal(stat(journal, &st), 0);
    }
    free(journal);
}

static void test_a_journal_that_was_hardly_begun_is_begun_anew(void **state)
{
    (void)state;
    assert_int_equal(job_run(1, "hardly", "items=4"), 0);
    char *journal = path_in("hardly", "journal.jsonl");
    assert_int_equal(truncate(journal, 20), 0);
    assert_int_equal(job_resume(1, "hardly", "items=4"), 0);
    assert_int_equal(job_count("hardly", "result", NULL), 4);
    assert_int_equal(truncate(journal, 0), 0);
    assert_int_equal(job_resume(1, "hardly", "items=4"), 0);
    assert_int_equal(job_count("hardly", "result", NULL), 4);
    assert_int_equal(unlink(journal), 0);
    assert_int_equal(job_resume(1, "hardly", "items=4"), 0);
    assert_int_equal(job_count("hardly", "result", NULL), 4);
    free(journal);
}

static void test_resuming_what_never_began_begins(void **state)
{
    (void)state;
    assert_int_equal(job_resume(1, "never", "items=4"), 0);
    assert_contains(job_messages(), "starts afresh");
    assert_int_equal(job_count("never", "result", NULL), 4);
    char *folder = path_in("never2", "");
    assert_int_equal(mkdir(folder, 0755), 0);
    free(folder);
    assert_int_equal(job_resume(1, "never2", "items=4"), 0);
    assert_contains(job_messages(), "starts afresh");
}

static void test_resuming_a_finished_run_rewrites_its_report(void **state)
{
    (void)state;
    assert_int_equal(job_run(2, "ready", "items=6"), 0);
    char *report = path_in("ready", "report.json");
    assert_int_equal(unlink(report), 0);
    /* Not even an evaluator is needed. */
    assert_int_equal(job_resume(2, "ready", "refuse=nothing plan_error=nothing"), 0);
    assert_true(rkb_file_exists(report));
    assert_int_equal(job_count("ready", "end", NULL), 1);
    free(report);
}

static void make_unfinished(const char *name)
{
    job_t job;
    job_init(&job, 1, name, "items=20 seconds=0.005");
    job_start(&job);
    step_until_results(&job, name, 3);
    job_kill(&job);
}

static void test_a_run_is_not_mixed_with_another(void **state)
{
    (void)state;
    job_t job;
    make_unfinished("mixed");
    int done = job_count("mixed", "result", NULL);
    assert_int_equal(job_run(1, "mixed", "items=20"), 2);
    assert_contains(job_messages(), "exists already");
    assert_int_equal(job_resume(1, "mixed", "items=21"), 2);
    assert_contains(job_messages(), "the candidates have changed");
    assert_int_equal(job_resume(1, "mixed", "items=20 sha=other"), 2);
    assert_contains(job_messages(), "the tasks have changed");
    job_init(&job, 1, "mixed", "items=20");
    job.command.resume = true;
    job.command.seed = 8;
    job_start(&job);
    assert_int_equal(job_finish(&job), 2);
    assert_contains(job_messages(), "--seed: is \"8\" now but was \"7\"");
    job_init(&job, 1, "mixed", "items=20");
    job.command.resume = true;
    job.command.compile_timeout = 5;
    job_start(&job);
    assert_int_equal(job_finish(&job), 2);
    assert_contains(job_messages(), "--compile-timeout");
    assert_int_equal(job_count("mixed", "result", NULL), done);
    /* Options that are not given come from the run. */
    job_init(&job, 1, "mixed", "items=20");
    job.command.resume = true;
    job.command.seed = -1;
    job.command.tasks = NULL;
    job_start(&job);
    assert_int_equal(job_finish(&job), 0);
    assert_int_equal(job_run(1, "unmixed", "items=20"), 0);
    assert_same_results("mixed", "unmixed");
}

static void test_a_journal_without_its_run_is_refused(void **state)
{
    (void)state;
    make_unfinished("norun");
    char *run = path_in("norun", "run.json");
    assert_int_equal(unlink(run), 0);
    free(run);
    assert_int_equal(job_resume(1, "norun", "items=20"), 2);
    assert_contains(job_messages(), "run.json: is missing");
}

static void test_a_run_that_is_still_going_on_is_not_resumed(void **state)
{
    (void)state;
    job_t first, second;
    job_init(&first, 1, "twice", "items=20 seconds=0.01");
    job_start(&first);
    step_until_results(&first, "twice", 2);
    job_init(&second, 1, "twice", "items=20");
    second.command.resume = true;
    job_start(&second);
    assert_int_equal(job_finish(&second), 2);
    assert_contains(job_messages(), "another rkb-mpi");
    assert_int_equal(job_finish(&first), 0);
    assert_int_equal(job_count("twice", "result", NULL), 20);
}

static void test_a_full_disk_ends_the_run_resumably(void **state)
{
    (void)state;
    struct rlimit before, small;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = (struct rlimit){.rlim_cur = 12000, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    int code = job_run(2, "full", "items=60");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(code, 4);
    assert_contains(job_messages(), "journal.jsonl");
    assert_contains(job_messages(), "--resume");
    int done = job_count("full", "result", NULL);
    assert_in_range(done, 5, 59);
    assert_int_equal(job_resume(2, "full", "items=60"), 0);
    assert_int_equal(job_run(2, "roomy", "items=60"), 0);
    assert_same_results("full", "roomy");
}

static void test_fail_on_decides_the_exit_code(void **state)
{
    (void)state;
    job_t job;
    static const char *const met[] = {"mismatch"}, *const unmet[] = {"tampering"};
    job_init(&job, 2, "failon", "items=8");
    job.command.fail_on.items = malloc(sizeof(met));
    memcpy(job.command.fail_on.items, met, sizeof(met));
    job.command.fail_on.count = 1;
    job_start(&job);
    assert_int_equal(job_finish(&job), 1);
    assert_contains(job_messages(), "--fail-on mismatch is met");
    job_init(&job, 2, "failon2", "items=8");
    job.command.fail_on.items = malloc(sizeof(unmet));
    memcpy(job.command.fail_on.items, unmet, sizeof(unmet));
    job.command.fail_on.count = 1;
    job_start(&job);
    assert_int_equal(job_finish(&job), 0);
}

static int group_teardown(void **state)
{
    (void)state;
    job_remove_scratch();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_number_of_ranks_gives_the_same_results),
        cmocka_unit_test(test_more_ranks_than_items),
        cmocka_unit_test(test_a_slow_start_delays_nothing_else),
        cmocka_unit_test(test_two_items_with_one_key_are_one),
        cmocka_unit_test(test_an_evaluator_that_dies_once_costs_nothing),
        cmocka_unit_test(test_an_item_that_kills_its_evaluator_is_not_the_candidates_fault),
        cmocka_unit_test(test_an_evaluator_that_breaks_the_protocol_is_replaced),
        cmocka_unit_test(test_an_evaluator_that_hangs_is_killed_in_the_end),
        cmocka_unit_test(test_a_rank_that_eats_items_is_taken_out),
        cmocka_unit_test(test_messages_have_a_bound),
        cmocka_unit_test(test_a_rank_without_device_is_reported_and_the_run_goes_on),
        cmocka_unit_test(test_no_device_at_all),
        cmocka_unit_test(test_foreign_evaluators_are_named),
        cmocka_unit_test(test_a_plan_that_fails_leaves_nothing),
        cmocka_unit_test(test_a_lost_ranks_items_are_done_by_others),
        cmocka_unit_test(test_an_item_that_loses_two_ranks_is_a_crash),
        cmocka_unit_test(test_a_rank_that_was_given_up_may_come_back_but_gets_nothing),
        cmocka_unit_test(test_ranks_leave_when_rank_0_is_silent),
        cmocka_unit_test(test_a_suspended_job_misses_no_deadline),
        cmocka_unit_test(test_messages_that_make_no_sense_are_ignored),
        cmocka_unit_test(test_a_drained_run_goes_on_where_it_stopped),
        cmocka_unit_test(test_the_second_signal_stops_at_once),
        cmocka_unit_test(test_draining_before_the_plan_leaves_nothing),
        cmocka_unit_test(test_a_killed_job_goes_on_from_any_moment),
        cmocka_unit_test(test_a_broken_tail_is_cut_and_its_item_judged_again),
        cmocka_unit_test(test_a_journal_that_was_hardly_begun_is_begun_anew),
        cmocka_unit_test(test_resuming_what_never_began_begins),
        cmocka_unit_test(test_resuming_a_finished_run_rewrites_its_report),
        cmocka_unit_test(test_a_run_is_not_mixed_with_another),
        cmocka_unit_test(test_a_journal_without_its_run_is_refused),
        cmocka_unit_test(test_a_run_that_is_still_going_on_is_not_resumed),
        cmocka_unit_test(test_a_full_disk_ends_the_run_resumably),
        cmocka_unit_test(test_fail_on_decides_the_exit_code),
    };
    return cmocka_run_group_tests(tests, NULL, group_teardown);
}
