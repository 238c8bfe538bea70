/* Ranks that meet in the middle of post-load. Each has a thread for its stack alone: only the one whose turn it is
 * runs, and a turn ends where a rank waits for the others, or at its end. So the order is always the same. */
#include "sim/model/model.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* What a rank brought to one reduction. */
struct deposit {
    const char *module, *name;
    enum cs_dtype dtype;
    int64_t numel;
    unsigned char *bytes;
    size_t capacity;
};

struct member {
    struct cs_group *group;
    size_t index;
    pthread_t thread;
    bool is_ended;
    size_t n_reductions;
    struct deposit deposits[2]; /* of an even and an odd reduction: nobody is further ahead than one */
};

struct cs_group {
    pthread_mutex_t mutex;
    pthread_cond_t turns;
    size_t n, turn; /* turn == n: nobody is left */
    struct member *members;
    cs_rank_body *body;
    void *context;
    bool has_failed, is_stuck;
    enum cs_status status;
    char text[2048]; /* of the first failure: texts are each thread's own */
};

/* ---- turns ---- */

static void await_turn(const struct member *member) {
    struct cs_group *group = member->group;
    pthread_mutex_lock(&group->mutex);
    while (group->turn != member->index) pthread_cond_wait(&group->turns, &group->mutex);
    pthread_mutex_unlock(&group->mutex);
}

static void pass_turn(const struct member *member) {
    struct cs_group *group = member->group;
    size_t next = group->n;
    for (size_t i = 1; i <= group->n && next == group->n; i++) {
        size_t at = (member->index + i) % group->n;
        if (!group->members[at].is_ended) next = at;
    }
    pthread_mutex_lock(&group->mutex);
    group->turn = next;
    pthread_cond_broadcast(&group->turns);
    pthread_mutex_unlock(&group->mutex);
}

static void note_failure(struct cs_group *group, enum cs_status status) {
    if (group->has_failed) return;
    group->has_failed = true;
    group->status = status;
    snprintf(group->text, sizeof group->text, "%s", cs_error_text());
}

/* When one trips, those that have not begun never do. */
static void *run_member(void *argument) {
    struct member *member = argument;
    struct cs_group *group = member->group;
    await_turn(member);
    enum cs_status status = group->has_failed ? CS_OK : group->body(group->context, member->index, group);
    if (status != CS_OK) note_failure(group, status);
    member->is_ended = true;
    pass_turn(member);
    return NULL;
}

static void release(struct cs_group *group) {
    for (size_t i = 0; i < group->n; i++)
        for (int d = 0; d < 2; d++) free(group->members[i].deposits[d].bytes);
    free(group->members);
    pthread_cond_destroy(&group->turns);
    pthread_mutex_destroy(&group->mutex);
}

enum cs_status cs_group_run(size_t n, cs_rank_body *body, void *context, bool *is_stuck) {
    struct cs_group group = {.n = n, .turn = n, .body = body, .context = context};
    size_t n_threads = 0;
    group.members = calloc(n ? n : 1, sizeof *group.members);
    CS_REQUIRE(group.members, CS_NO_MEMORY, "out of memory for %zu ranks that run together", n);
    pthread_mutex_init(&group.mutex, NULL);
    pthread_cond_init(&group.turns, NULL);
    for (size_t i = 0; i < n; i++) group.members[i] = (struct member){.group = &group, .index = i};
    while (n_threads < n &&
           !pthread_create(&group.members[n_threads].thread, NULL, run_member, &group.members[n_threads]))
        n_threads++;
    if (n_threads < n) {
        cs_fail(CS_NO_MEMORY, "no threads for %zu ranks that run together, only %zu", n, n_threads);
        note_failure(&group, CS_NO_MEMORY);
        for (size_t i = n_threads; i < n; i++) group.members[i].is_ended = true;
    }
    if (n_threads) pass_turn(&group.members[n - 1]); /* to the first */
    for (size_t i = 0; i < n_threads; i++) pthread_join(group.members[i].thread, NULL);
    *is_stuck = group.is_stuck;
    enum cs_status status = group.has_failed ? cs_fail(group.status, "%s", group.text) : CS_OK;
    release(&group);
    return status;
}

/* ---- the largest of all ranks ---- */

static struct deposit *deposit_of(struct member *member, size_t reduction) { return &member->deposits[reduction % 2]; }

static enum cs_status bring(struct member *member, const struct cs_rank *rank, const char *module, const char *name,
                            const struct cs_view *view, size_t bytes) {
    struct deposit *mine = deposit_of(member, member->n_reductions);
    if (mine->capacity < bytes) {
        void *grown = realloc(mine->bytes, bytes);
        CS_REQUIRE(grown, CS_NO_MEMORY, "out of memory for the largest values of %s.%s over ranks", module, name);
        mine->bytes = grown;
        mine->capacity = bytes;
    }
    mine->module = module, mine->name = name;
    mine->dtype = view->dtype, mine->numel = cs_view_numel(view);
    CS_TRY(cs_device_read(rank->device, view, mine->bytes, bytes));
    member->n_reductions++;
    return CS_OK;
}

/* Upstream would wait for a collective that never comes, or mix two that have nothing to do with each other. */
static enum cs_status meet(struct member *member, const struct deposit *mine, size_t reduction) {
    struct cs_group *group = member->group;
    for (size_t i = 0; i < group->n; i++) {
        const struct deposit *other = deposit_of(&group->members[i], reduction);
        CS_REQUIRE(group->members[i].n_reductions > reduction, CS_REFUSED,
                   "rank %zu waits for ever: %s.%s is the largest over all ranks, and rank %zu is done without it",
                   member->index, mine->module, mine->name, i);
        bool is_same = cs_text_equal(mine->module, other->module) && cs_text_equal(mine->name, other->name) &&
                       mine->dtype == other->dtype && mine->numel == other->numel;
        CS_REQUIRE(is_same, CS_REFUSED,
                   "rank %zu brings %s.%s to a reduction over all ranks, and rank %zu %s.%s: expected the same",
                   member->index, mine->module, mine->name, i, other->module, other->name);
    }
    return CS_OK;
}

static uint64_t bits_at(const struct deposit *deposit, int64_t i) {
    size_t width = (size_t)cs_dtype_bits(deposit->dtype) / 8;
    uint64_t bits = 0; /* little-endian: the low bytes come first */
    memcpy(&bits, deposit->bytes + (size_t)i * width, width);
    return bits;
}

/* As NCCL does it (fmaxf, __hmax): a NaN loses against any number. */
static uint64_t larger(enum cs_dtype dtype, uint64_t a, uint64_t b) {
    double left = cs_dtype_decode(dtype, a), right = cs_dtype_decode(dtype, b);
    return isnan(left) || right > left ? b : a;
}

static void reduce(const struct cs_group *group, size_t reduction, unsigned char *result) {
    const struct deposit *first = deposit_of(&group->members[0], reduction);
    size_t width = (size_t)cs_dtype_bits(first->dtype) / 8;
    for (int64_t i = 0; i < first->numel; i++) {
        uint64_t most = bits_at(first, i);
        for (size_t r = 1; r < group->n; r++)
            most = larger(first->dtype, most, bits_at(deposit_of(&group->members[r], reduction), i));
        memcpy(result + (size_t)i * width, &most, width);
    }
}

enum cs_status cs_all_reduce_max(struct cs_module *module, const char *name, const struct cs_view *view) {
    struct cs_rank *rank = module->rank;
    struct cs_group *group = rank->group;
    CS_REQUIRE(group, CS_INTERNAL, "%s.%s: rank %d runs alone, and needs the others", module->spec->name, name,
               rank->index);
    struct member *member = &group->members[rank->index];
    size_t bytes = (size_t)(cs_view_numel(view) * cs_dtype_bits(view->dtype) / 8), reduction = member->n_reductions;
    CS_TRY(bring(member, rank, module->spec->name, name, view, bytes));
    pass_turn(member);
    await_turn(member);
    rank->log->rank = rank->index;
    if (group->has_failed) group->is_stuck = true;
    CS_REQUIRE(!group->has_failed, CS_REFUSED, "rank %d waits for ever for a rank that failed", rank->index);
    enum cs_status status = meet(member, deposit_of(member, reduction), reduction);
    if (status != CS_OK) {
        group->is_stuck = true;
        return status;
    }
    unsigned char *result = malloc(bytes ? bytes : 1);
    CS_REQUIRE(result, CS_NO_MEMORY, "out of memory for the largest values of %s.%s", module->spec->name, name);
    reduce(group, reduction, result);
    status = cs_device_write(rank->device, view, result, bytes);
    free(result);
    return status;
}
