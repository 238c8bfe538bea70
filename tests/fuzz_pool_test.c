/* Faults of our own in a campaign: the oracle is replaced by one that crashes, hangs or gives up on plans that the test
 * knows, in the processes of the real verb. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/cli/fuzz.h"
#include "tests/support_cli.h"

enum cs_status __wrap_cs_fuzz_judge(const struct cs_fuzz_plan *plan, const struct cs_judge_options *options,
                                    struct cs_arena *arena, struct cs_fuzz_result *result);

static struct {
    enum { CRASH, HANG, GIVE_UP } how;
    bool needs_canary;
} fault;

/* A direct reload somewhere, more than one expert. */
static bool is_hurt(const struct cs_fuzz_plan *plan, const struct cs_judge_options *options) {
    bool has_direct = false;
    for (size_t i = 0; i < plan->n_steps; i++)
        has_direct |= cs_text_equal(cs_letter_driver(plan->step[i].letter)->name, "direct");
    return has_direct && plan->axis[CS_AXIS_experts] > 0 && (options->defects || !fault.needs_canary);
}

enum cs_status __wrap_cs_fuzz_judge(const struct cs_fuzz_plan *plan, const struct cs_judge_options *options,
                                    struct cs_arena *arena, struct cs_fuzz_result *result) {
    (void)arena;
    *result = (struct cs_fuzz_result){.judged = *plan, .refused_step = -1, .digest = (uint64_t)getpid()};
    if (plan->breakage || cs_rule_broken(NULL, plan)) result->outcome = CS_FUZZ_REFUSED;
    if (!is_hurt(plan, options)) return CS_OK;
    if (fault.how == CRASH) raise(SIGSEGV);
    while (fault.how == HANG) pause();
    return cs_fail(CS_INTERNAL, "%d steps of %d ranks were too many", plan->n_steps, 1 + plan->axis[CS_AXIS_ranks]);
}

/* The verb in a process of its own. */
static void fuzz(const char *const *more) {
    const char *words[32] = {"fuzz", "-t", "1", "--depth", "0", "--runs", "0", "--device", "ref", "-q", "-o", "out"};
    int n = 12;
    for (; *more; more++) words[n++] = *more;
    fflush(NULL);
    pid_t pid = fork();
    if (!pid) {
        signal(SIGSEGV, SIG_DFL); /* cmocka would go on with the next test */
        if (!freopen("said.txt", "w", stdout)) _exit(99);
        int status = cs_verb_fuzz(n, (char **)(uintptr_t)words);
        fflush(NULL);
        _exit(status);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    run_program("/bin/cat", "said.txt");
    assert_true(WIFEXITED(status));
    outcome.status = WEXITSTATUS(status);
}

/* What every small plan must be: one direct step, two experts, and all else as simple as can be. */
static void assert_small(const char *finger) {
    assert_int_equal(outcome.status, 1);
    assert_says(outcome.out, finger);
    assert_says(outcome.out, "  steps: A,direct:B\n");
    assert_says(outcome.out, ", tp1, 1 layers, 2 experts, hidden 64, intermediate 64, beside: nothing");
    assert_says(outcome.out, "  made small after ");
    assert_says(outcome.out, "\n1 unique failures\n");
    assert_null(strstr(outcome.out, "FLAKY"));
}

static void a_crash_becomes_small(void **state) {
    (void)state;
    fault.how = CRASH;
    fuzz((const char *const[]){"--canary", "none", NULL});
    assert_small("crash: its process was ended by signal 11");
}

static void a_hang_becomes_small(void **state) {
    (void)state;
    fault.how = HANG;
    fuzz((const char *const[]){"--canary", "none", "--timeout", "0.1s", NULL});
    assert_small("  hang: no answer within 0.1 s\n");
}

/* The message has numbers, which change as the plan becomes smaller. */
static void an_internal_error_becomes_small(void **state) {
    (void)state;
    fault.how = GIVE_UP;
    fuzz((const char *const[]){"--canary", "none", NULL});
    assert_small("internal # steps of # ranks were too many");
    assert_says(outcome.out, "  1 steps of 1 ranks were too many\n");
}

/* A canary is found by its verdict. Its crash is a fault of ours, which no mutant may cause, and finds nothing. */
static void a_crash_of_the_canary_is_told_and_finds_nothing(void **state) {
    (void)state;
    fault.how = CRASH;
    fault.needs_canary = true;
    fuzz((const char *const[]){"--canary", "no_fill", NULL});
    assert_small("canary no_fill: crash: its process was ended by signal 11");
    assert_says(outcome.out, "canary no_fill: NOT found");
    run_program("/bin/cat", "out/fuzz.*.lua");
    assert_says(outcome.out, "defects = { \"no_fill\" }");
}

/* The state of a campaign whose budget for making failures small ended early. */
static void shrinking_goes_on_with_the_campaign(void **state) {
    (void)state;
    fault.how = GIVE_UP;
    fuzz((const char *const[]){"--canary", "none", NULL});
    assert_small("internal # steps of # ranks were too many");
    run_program("/bin/sed", "-i 's/\"minimal\": true/\"minimal\": false/; s/=A,direct:B/=C,layerwise.same:B,direct:D/; "
                            "s/ranks=tp1/ranks=tp2/' out/campaign.json && rm out/fuzz.*.lua");
    fuzz((const char *const[]){"--canary", "none", NULL});
    assert_small("1 unique failures");
    run_program("/bin/cat", "out/fuzz.*.lua out/campaign.json");
    assert_says(outcome.out, "-- steps: A,direct:B\n");
    assert_says(outcome.out, "\"minimal\": true");
}

/* Stopped by a signal when it has nothing to do: nobody is to blame, and nobody waits for it forever. */
static void a_process_that_stands_still_is_not_waited_for(void **state) {
    (void)state;
    struct cs_workers *pool;
    struct cs_fuzz_answer answer;
    const struct cs_fuzz_plan plan = {0};
    assert_int_equal(cs_workers_open(2, &(struct cs_judge_options){0}, 1, &pool), CS_OK);
    for (uint64_t number = 0; number < 2; number++) assert_int_equal(cs_workers_send(pool, number, &plan, 0), CS_OK);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(cs_workers_take(pool, &answer), CS_OK);
        assert_false(answer.is_crash);
        if (i) kill((pid_t)answer.digest, SIGSTOP);
    }
    alarm(60); /* ends this test if it waits */
    cs_workers_close(pool);
    alarm(0);
    assert_int_equal(kill((pid_t)answer.digest, 0), -1);
}

/* As the launchers set them: `sbatch --array=5-9:2`, `srun -n 2`, a batch script that asked for 4 tasks, GitLab. */
static void shards_come_from_launchers(void **state) {
    (void)state;
    static const char *const all[] = {"COLDSTART_SHARD_INDEX", "COLDSTART_SHARD_COUNT", "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT",
                                      "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_STEP", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                                      "PMI_RANK", "PMI_SIZE", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS",
                                      "JOB_COMPLETION_INDEX", "JOB_COMPLETIONS", "CI_NODE_INDEX", "CI_NODE_TOTAL"};
    static const struct {
        const char *set[5];
        uint64_t index, n; /* n 0: refused */
        const char *says;
    } rows[] = {
        {{"SLURM_ARRAY_TASK_ID=9", "SLURM_ARRAY_TASK_MIN=5", "SLURM_ARRAY_TASK_STEP=2", "SLURM_ARRAY_TASK_COUNT=3"}, 2, 3, NULL},
        {{"SLURM_ARRAY_TASK_ID=9", "SLURM_ARRAY_TASK_MIN=1", "SLURM_ARRAY_TASK_COUNT=3"}, 0, 0, "shard 8 of 3"}, /* 1,4,9 */
        {{"SLURM_ARRAY_TASK_ID=8", "SLURM_ARRAY_TASK_MIN=5", "SLURM_ARRAY_TASK_STEP=2", "SLURM_ARRAY_TASK_COUNT=3"}, 0, 0, "--shard I/N"},
        {{"SLURM_ARRAY_TASK_ID=x", "SLURM_ARRAY_TASK_COUNT=3"}, 0, 0, "found \"x\""},
        {{"SLURM_PROCID=1", "SLURM_STEP_NUM_TASKS=2", "SLURM_NTASKS=2"}, 1, 2, NULL},
        {{"SLURM_PROCID=0", "SLURM_NTASKS=4"}, 0, 1, NULL},
        {{"OMPI_COMM_WORLD_RANK=2", "OMPI_COMM_WORLD_SIZE=3"}, 2, 3, NULL},
        {{"JOB_COMPLETION_INDEX=1", "JOB_COMPLETIONS=4"}, 1, 4, NULL},
        {{"JOB_COMPLETION_INDEX=1"}, 0, 1, NULL},
        {{"CI_NODE_INDEX=1", "CI_NODE_TOTAL=2"}, 0, 2, NULL},
        {{"CI_NODE_INDEX=0", "CI_NODE_TOTAL=2"}, 0, 0, "CI_NODE_INDEX is 0, expected 1"},
        {{"COLDSTART_SHARD_INDEX=1"}, 0, 0, "COLDSTART_SHARD_COUNT is not"},
        {{"COLDSTART_SHARD_COUNT=2"}, 0, 0, "COLDSTART_SHARD_INDEX is not"},
        {{"COLDSTART_SHARD_INDEX=0", "COLDSTART_SHARD_COUNT=2", "CI_NODE_INDEX=3", "CI_NODE_TOTAL=3"}, 0, 2, NULL},
        {{NULL}, 0, 1, NULL},
    };
    for (size_t i = 0; i < CS_COUNT(rows); i++) {
        for (size_t v = 0; v < CS_COUNT(all); v++) unsetenv(all[v]);
        for (const char *const *set = rows[i].set; *set; set++) {
            char name[64];
            size_t length = strcspn(*set, "=");
            snprintf(name, sizeof name, "%.*s", (int)length, *set);
            setenv(name, *set + length + 1, 1);
        }
        struct cs_fuzz_shard shard;
        enum cs_status status = cs_fuzz_shard_find(NULL, &shard);
        assert_int_equal(status, rows[i].n ? CS_OK : CS_BAD_USAGE);
        if (!rows[i].n) {
            assert_says(cs_error_text(), rows[i].says);
            continue;
        }
        if (shard.index != rows[i].index || shard.n != rows[i].n)
            fail_msg("row %zu: shard %d of %d", i, (int)shard.index, (int)shard.n);
    }
    for (size_t v = 0; v < CS_COUNT(all); v++) unsetenv(all[v]);
}

static int begin(void **state) {
    (void)state;
    memset(&fault, 0, sizeof fault);
    return enter_new_folder();
}

static int end(void **state) {
    (void)state;
    return leave_folder();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_crash_becomes_small, begin, end),
        cmocka_unit_test_setup_teardown(a_hang_becomes_small, begin, end),
        cmocka_unit_test_setup_teardown(an_internal_error_becomes_small, begin, end),
        cmocka_unit_test_setup_teardown(a_crash_of_the_canary_is_told_and_finds_nothing, begin, end),
        cmocka_unit_test_setup_teardown(a_process_that_stands_still_is_not_waited_for, begin, end),
        cmocka_unit_test_setup_teardown(shrinking_goes_on_with_the_campaign, begin, end),
        cmocka_unit_test(shards_come_from_launchers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
