/* Shrinking: the smallest plan near a failing one that still fails in the same way.
 *
 * Candidates are tried in a fixed order (steps, then axes, then data), and the first that still fails becomes the plan;
 * when a whole round finds none, the plan is a local minimum. The order is a function of the plan alone: a search that
 * ran out of its budget goes on from where it stopped. */
#include <string.h>
#include <time.h>

#include "sim/fuzz/internal.h"

struct search {
    const struct cs_shrink_options *options;
    struct cs_shrunk *shrunk;
    struct cs_fuzz_plan *plan;
    double start;
    bool is_over;
};

static double now_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static bool is_equal(const struct cs_fuzz_plan *a, const struct cs_fuzz_plan *b) {
    return cs_fuzz_plan_key(a) == cs_fuzz_plan_key(b);
}

/* Takes the candidate if it fails in the same way. */
static enum cs_status try_plan(struct search *search, const struct cs_fuzz_plan *candidate, bool *is_taken) {
    *is_taken = false;
    const struct cs_shrink_options *options = search->options;
    search->is_over = search->shrunk->n_runs >= options->most_runs || now_seconds() - search->start > options->seconds;
    if (search->is_over || is_equal(candidate, search->plan)) return CS_OK;
    search->shrunk->n_runs++;
    CS_TRY(options->still_fails(options->context, candidate, is_taken));
    if (*is_taken) *search->plan = *candidate;
    return CS_OK;
}

/* ---- steps ---- */

struct cs_fuzz_plan cs_fuzz_without(const struct cs_fuzz_plan *plan, size_t first, size_t n) {
    struct cs_fuzz_plan less = *plan;
    memmove(&less.step[first], &plan->step[first + n], sizeof less.step[0] * (plan->n_steps - first - n));
    less.n_steps = (uint8_t)(plan->n_steps - n);
    return less;
}

/* Runs of steps, long ones first, from the end. */
static enum cs_status drop_steps(struct search *search, bool *is_smaller) {
    for (size_t n = search->plan->n_steps; n >= 1 && !search->is_over; n = n > 1 ? n / 2 : 0)
        for (size_t first = search->plan->n_steps; first-- > 0 && !search->is_over;) {
            if (first + n > search->plan->n_steps) continue;
            struct cs_fuzz_plan candidate = cs_fuzz_without(search->plan, first, n);
            bool is_taken;
            CS_TRY(try_plan(search, &candidate, &is_taken));
            *is_smaller |= is_taken;
        }
    return CS_OK;
}

/* Each step in the plain manner. */
static enum cs_status plain_steps(struct search *search, bool *is_smaller) {
    for (size_t i = 0; i < search->plan->n_steps && !search->is_over; i++) {
        struct cs_fuzz_plan candidate = *search->plan;
        bool is_taken;
        candidate.step[i].letter = (uint8_t)(candidate.step[i].letter / cs_n_manners * cs_n_manners);
        CS_TRY(try_plan(search, &candidate, &is_taken));
        *is_smaller |= is_taken;
    }
    return CS_OK;
}

/* ---- axes ---- */

static enum cs_status lower_axis(struct search *search, enum cs_axis_id id, bool *is_smaller) {
    if (!cs_axis(id)->is_smaller_simpler) return CS_OK;
    for (uint8_t value = 0; value < search->plan->axis[id] && !search->is_over; value++) {
        struct cs_fuzz_plan candidate = *search->plan;
        bool is_taken;
        candidate.axis[id] = value;
        CS_TRY(try_plan(search, &candidate, &is_taken));
        *is_smaller |= is_taken;
    }
    return CS_OK;
}

static enum cs_status lower_axes(struct search *search, bool *is_smaller) {
    for (int a = 0; a < CS_N_AXES && !search->is_over; a++)
        CS_TRY(lower_axis(search, (enum cs_axis_id)a, is_smaller));
    struct cs_fuzz_plan candidate = *search->plan;
    bool is_taken;
    candidate.axis[CS_AXIS_device] = 0; /* ref alone, unless another device is what fails */
    CS_TRY(try_plan(search, &candidate, &is_taken));
    *is_smaller |= is_taken;
    return CS_OK;
}

/* ---- data ---- */

static enum cs_status try_smaller(struct search *search, const struct cs_fuzz_plan *candidate, bool *is_smaller) {
    bool is_taken;
    CS_TRY(try_plan(search, candidate, &is_taken));
    *is_smaller |= is_taken;
    return CS_OK;
}

/* Seed 1, and A → B → A → B: a reload of the same bytes would prove nothing. */
static enum cs_status simplify_data(struct search *search, bool *is_smaller) {
    struct cs_fuzz_plan candidate = *search->plan;
    candidate.seed = 1;
    CS_TRY(try_smaller(search, &candidate, is_smaller));
    candidate = *search->plan;
    candidate.start = 0;
    CS_TRY(try_smaller(search, &candidate, is_smaller));
    for (size_t i = 0; i < search->plan->n_steps; i++) {
        candidate = *search->plan;
        candidate.step[i].checkpoint = (i ? search->plan->step[i - 1].checkpoint : search->plan->start) == 0;
        CS_TRY(try_smaller(search, &candidate, is_smaller));
    }
    return CS_OK;
}

enum cs_status cs_fuzz_shrink(const struct cs_shrink_options *options, struct cs_fuzz_plan *plan,
                              struct cs_shrunk *shrunk) {
    *shrunk = (struct cs_shrunk){0};
    struct search search = {.options = options, .shrunk = shrunk, .plan = plan, .start = now_seconds()};
    for (bool is_smaller = true; is_smaller && !search.is_over;) {
        is_smaller = false;
        CS_TRY(drop_steps(&search, &is_smaller));
        CS_TRY(plain_steps(&search, &is_smaller));
        CS_TRY(lower_axes(&search, &is_smaller));
        CS_TRY(simplify_data(&search, &is_smaller));
    }
    shrunk->is_minimal = !search.is_over;
    return CS_OK;
}
