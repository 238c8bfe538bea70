/* All plans of a campaign by number: what is guaranteed, what must be refused, everything short, then without end at
 * random. Plan i is a function of the options alone. */
#include <stdlib.h>
#include <string.h>

#include "sim/fuzz/internal.h"

enum { BREAKS_PER_RULE = 6, BREAKS_EACH = 2, SWARM = 32, CANDIDATES = 4, ILLEGAL_SHARE = 16, TRIES = 2000 };

struct cs_plan_stream {
    struct cs_arena arena;
    struct cs_stream_options options;
    struct cs_legal_memo memo;
    struct cs_axes_cover axes;
    struct cs_orders_cover orders;
    struct cs_fuzz_plan tiny; /* axes of the exhaustive part */
    size_t n_guaranteed, n_illegal, n_exhaustive, capacity;
    struct illegal {
        struct cs_fuzz_plan plan;
        const struct cs_rule *rule;
    } * illegal;
    size_t guaranteed_capacity;
    struct cs_fuzz_plan *guaranteed;
    size_t next;
    struct cs_dice dice;
    /* random part: what this stretch of plans may use, and how often each path was dealt */
    bool has_letter[256];
    bool has_value[CS_N_AXES][CS_AXIS_VALUES];
    uint32_t *hits; /* letter × back end */
    uint32_t loader_hits[4][CS_AXIS_VALUES][CS_AXIS_VALUES]; /* loader × value of an axis */
};

const char *cs_part_name(enum cs_part part) {
    static const char *const names[] = {"corpus", "guaranteed", "illegal", "exhaustive", "random"};
    return names[part];
}

/* ---- steps that fit axes ---- */

static bool step_fits(const struct cs_fuzz_plan *axes, size_t letter) {
    struct cs_fuzz_plan plan = *axes;
    plan.n_steps = 1;
    plan.breakage = 0;
    plan.step[0] = (struct cs_step_of_plan){.letter = (uint8_t)letter};
    for (size_t i = 0; i < cs_n_rules; i++)
        if (cs_rules[i].reads_steps && !cs_rules[i].holds(&plan)) return false;
    return true;
}

/* The steps up to this one, and that something may follow if something does. */
static bool fits_at(const struct cs_fuzz_plan *plan, size_t i) {
    struct cs_fuzz_plan part = *plan;
    part.n_steps = (uint8_t)(i + 1);
    if (part.n_steps < plan->n_steps) part.step[part.n_steps++] = plan->step[i];
    return step_fits(plan, plan->step[i].letter) && cs_steps_are_legal(&part);
}

/* The letter, or the next one that this server allows. */
static void fit_steps(struct cs_fuzz_plan *plan) {
    for (size_t i = 0; i < plan->n_steps; i++) {
        struct cs_step_of_plan *step = &plan->step[i];
        for (size_t n = 0; n < cs_n_letters() && !fits_at(plan, i); n++)
            step->letter = (uint8_t)((step->letter + 1) % cs_n_letters());
    }
}

static bool is_sparse(const struct cs_fuzz_plan *plan, size_t step) {
    return step < plan->n_steps && cs_letter_manner(plan->step[step].letter)->is_sparse;
}

/* Each step sends another checkpoint than the one before, and one that differs in all elements: but a sparse one, which
 * follows the checkpoint that it differs from. */
static void deal_checkpoints(struct cs_fuzz_plan *plan, struct cs_dice *dice) {
    enum { WHOLE = CS_FUZZ_PATCHED };
    plan->start = is_sparse(plan, 0) ? 0 : (uint8_t)cs_roll_below(dice, WHOLE);
    int held = plan->start;
    for (size_t i = 0; i < plan->n_steps; i++) {
        bool is_original = held % CS_FUZZ_PATCHED == 0;
        int other = (held % WHOLE + 1 + (int)cs_roll_below(dice, WHOLE - 1)) % WHOLE;
        if (is_sparse(plan, i) && is_original)
            held = held ? 0 : CS_FUZZ_PATCHED;
        else
            held = is_sparse(plan, i + 1) && held ? 0 : other;
        plan->step[i].checkpoint = (uint8_t)held;
    }
}

static void copy_steps(struct cs_fuzz_plan *plan, const struct cs_fuzz_plan *from) {
    plan->n_steps = from->n_steps;
    memcpy(plan->step, from->step, sizeof plan->step);
}

static bool steps_fit(const struct cs_fuzz_plan *axes, const struct cs_fuzz_plan *steps) {
    for (size_t i = 0; i < steps->n_steps; i++)
        if (!step_fits(axes, steps->step[i].letter)) return false;
    return true;
}

/* ---- guaranteed: each row of axes once at least, each row of orders once at least ---- */

static enum cs_status add_guaranteed(struct cs_plan_stream *stream, const struct cs_fuzz_plan *axes,
                                     const struct cs_fuzz_plan *steps) {
    void *items = stream->guaranteed;
    struct cs_fuzz_plan *plan =
        cs_arena_grow(&stream->arena, &items, stream->n_guaranteed, &stream->guaranteed_capacity, sizeof *plan);
    CS_REQUIRE(plan, CS_NO_MEMORY, "out of memory for %zu plans", stream->n_guaranteed);
    stream->guaranteed = items;
    *plan = *axes;
    copy_steps(plan, steps);
    fit_steps(plan);
    deal_checkpoints(plan, &stream->dice);
    stream->n_guaranteed++;
    return CS_OK;
}

static enum cs_status make_guaranteed(struct cs_plan_stream *stream) {
    const struct cs_axes_cover *axes = &stream->axes;
    const struct cs_orders_cover *orders = &stream->orders;
    bool *is_used = CS_NEW_ARRAY(&stream->arena, bool, axes->n_rows + 1);
    CS_REQUIRE(is_used, CS_NO_MEMORY, "out of memory for %zu rows", axes->n_rows);
    size_t next = 0;
    for (size_t o = 0; o < orders->n_rows; o++) {
        size_t tried = 0;
        while (tried < axes->n_rows && !steps_fit(&axes->rows[next], &orders->rows[o]))
            next = (next + 1) % axes->n_rows, tried++;
        if (tried == axes->n_rows) continue; /* no server of this space allows these steps together */
        CS_TRY(add_guaranteed(stream, &axes->rows[next], &orders->rows[o]));
        is_used[next] = true;
        next = (next + 1) % axes->n_rows;
    }
    for (size_t a = 0; a < axes->n_rows; a++)
        if (!is_used[a]) CS_TRY(add_guaranteed(stream, &axes->rows[a], &orders->rows[a % orders->n_rows]));
    return CS_OK;
}

/* ---- random values ---- */

/* Sizes cost time: the smaller of two, so that most plans are quick, and large ones are there. */
static bool is_size(enum cs_axis_id id) {
    return id == CS_AXIS_layers || id == CS_AXIS_experts || id == CS_AXIS_hidden || id == CS_AXIS_intermediate;
}

static uint8_t roll_value(struct cs_plan_stream *stream, enum cs_axis_id id) {
    size_t n = cs_axis(id)->n;
    for (size_t tries = 0; tries < TRIES; tries++) {
        size_t value = cs_roll_below(&stream->dice, n), other = is_size(id) ? cs_roll_below(&stream->dice, n) : value;
        if (other < value) value = other;
        bool is_allowed = !stream->options.space.is_left_out[id][value] && stream->has_value[id][value];
        if (is_allowed) return (uint8_t)value;
    }
    return 0;
}

/* Few loaders load a method, and some methods have many back ends and others one: half of the plans choose the loader
 * first, which is then as frequent as any, and half the back end. */
static void roll_axes(struct cs_plan_stream *stream, struct cs_fuzz_plan *plan) {
    enum { FITTING_TRIES = 512 };
    for (int a = 0; a < CS_N_AXES; a++) plan->axis[a] = roll_value(stream, (enum cs_axis_id)a);
    enum cs_axis_id follows = cs_roll(&stream->dice) & 1 ? CS_AXIS_backend : CS_AXIS_loader;
    for (size_t tries = 0; tries < FITTING_TRIES && !cs_rules[0].holds(plan); tries++) {
        uint8_t value = (uint8_t)cs_roll_below(&stream->dice, cs_axis(follows)->n);
        if (!stream->options.space.is_left_out[follows][value]) plan->axis[follows] = value;
    }
    plan->seed = cs_roll(&stream->dice) >> 1;
}

static void allow_all(struct cs_plan_stream *stream) {
    memset(stream->has_letter, 1, sizeof stream->has_letter);
    memset(stream->has_value, 1, sizeof stream->has_value);
}

static void roll_steps(struct cs_plan_stream *stream, struct cs_fuzz_plan *plan) {
    plan->n_steps = (uint8_t)(1 + cs_roll_below(&stream->dice, 6));
    for (size_t i = 0; i < plan->n_steps; i++) {
        size_t letter = cs_roll_below(&stream->dice, cs_n_letters());
        while (!stream->has_letter[letter]) letter = (letter + 1) % cs_n_letters();
        plan->step[i].letter = (uint8_t)letter;
    }
    fit_steps(plan);
    deal_checkpoints(plan, &stream->dice);
}

static bool roll_legal_axes(struct cs_plan_stream *stream, struct cs_fuzz_plan *plan) {
    for (size_t tries = 0; tries < TRIES; tries++) {
        *plan = (struct cs_fuzz_plan){0};
        roll_axes(stream, plan);
        if (cs_axes_are_legal(&stream->memo, plan)) return true;
    }
    return false;
}

/* A stretch may have been dealt values that no legal plan has, such as one way to be split and no experts to split. */
static void roll_legal(struct cs_plan_stream *stream, struct cs_fuzz_plan *plan) {
    if (!roll_legal_axes(stream, plan)) {
        allow_all(stream);
        (void)roll_legal_axes(stream, plan);
    }
    roll_steps(stream, plan);
}

/* ---- illegal on purpose ---- */

static enum cs_status add_illegal(struct cs_plan_stream *stream, const struct cs_fuzz_plan *plan,
                                  const struct cs_rule *rule) {
    void *items = stream->illegal;
    struct illegal *illegal =
        cs_arena_grow(&stream->arena, &items, stream->n_illegal, &stream->capacity, sizeof *illegal);
    CS_REQUIRE(illegal, CS_NO_MEMORY, "out of memory for %zu plans", stream->n_illegal);
    stream->illegal = items;
    *illegal = (struct illegal){*plan, rule};
    stream->n_illegal++;
    return CS_OK;
}

/* A plan whose first broken rule is this one, in its last two steps if it is about steps. */
static bool roll_breaking(struct cs_plan_stream *stream, const struct cs_rule *rule, size_t most_tries,
                          struct cs_fuzz_plan *plan) {
    for (size_t tries = 0; tries < most_tries; tries++) {
        *plan = (struct cs_fuzz_plan){0};
        roll_axes(stream, plan);
        roll_steps(stream, plan);
        bool is_empty = rule->reads_steps && tries % 4 == 3;
        if (is_empty) plan->n_steps = 0;
        for (size_t i = plan->n_steps; rule->reads_steps && i-- > 0 && i + 2 >= plan->n_steps;)
            plan->step[i].letter = (uint8_t)cs_roll_below(&stream->dice, cs_n_letters());
        if (cs_rule_broken(&stream->memo, plan) == rule) return true;
    }
    return false;
}

static enum cs_status make_illegal(struct cs_plan_stream *stream) {
    struct cs_fuzz_plan plan;
    for (size_t r = 0; r < cs_n_rules; r++)
        for (int i = 0; i < BREAKS_PER_RULE; i++)
            if (roll_breaking(stream, &cs_rules[r], TRIES, &plan)) CS_TRY(add_illegal(stream, &plan, &cs_rules[r]));
    for (size_t b = 0; b < cs_n_breakages; b++)
        for (int i = 0; i < BREAKS_EACH; i++) {
            roll_legal(stream, &plan);
            plan.breakage = (uint8_t)(b + 1);
            CS_TRY(add_illegal(stream, &plan, NULL));
        }
    return CS_OK;
}

/* ---- everything short ---- */

/* Whole loads by every driver: manners multiply too fast. */
static size_t n_drivers(void) { return cs_n_letters() / cs_n_manners; }

static size_t n_sequences(int depth) {
    size_t n = 0, each = 1;
    for (int d = 0; d <= depth; d++, each *= n_drivers()) n += each;
    return n;
}

/* Sequence number `number`: shorter ones first, then by letters. */
static void sequence_of(size_t number, struct cs_fuzz_plan *plan) {
    size_t n = 1;
    plan->n_steps = 0;
    for (; number >= n; n *= n_drivers(), plan->n_steps++) number -= n;
    for (size_t i = plan->n_steps; i-- > 0; number /= n_drivers())
        plan->step[i].letter = (uint8_t)(number % n_drivers() * cs_n_manners);
}

/* The smallest padded server that allows most letters. */
static void choose_tiny(struct cs_plan_stream *stream) {
    size_t most = 0;
    for (size_t i = 0; i < stream->axes.n_rows; i++) {
        struct cs_fuzz_plan plan = stream->axes.rows[i];
        size_t n = 0;
        plan.axis[CS_AXIS_layers] = plan.axis[CS_AXIS_experts] = plan.axis[CS_AXIS_ranks] = 0;
        plan.axis[CS_AXIS_beside] = 1;
        plan.axis[CS_AXIS_hidden] = plan.axis[CS_AXIS_intermediate] = 1;
        plan.axis[CS_AXIS_allocator] = plan.axis[CS_AXIS_device] = 0;
        if (!cs_axes_are_legal(&stream->memo, &plan)) continue;
        for (size_t letter = 0; letter < cs_n_letters(); letter++) n += step_fits(&plan, letter);
        if (n > most) most = n, stream->tiny = plan;
    }
    if (!most && stream->axes.n_rows) stream->tiny = stream->axes.rows[0];
}

/* ---- random: swarms, steered ---- */

/* Which letters and values the next stretch of plans may use: half of them, never none. */
static void deal_swarm(struct cs_plan_stream *stream) {
    bool has_any = false;
    for (size_t i = 0; i < cs_n_letters(); i++) has_any |= stream->has_letter[i] = cs_roll(&stream->dice) & 1;
    if (!has_any) stream->has_letter[cs_roll_below(&stream->dice, cs_n_letters())] = true;
    for (int a = 0; a < CS_N_AXES; a++) {
        size_t n = cs_axis((enum cs_axis_id)a)->n, n_left = 0;
        for (size_t v = 0; v < n; v++) {
            stream->has_value[a][v] = n < 3 || cs_roll(&stream->dice) & 1;
            n_left += stream->has_value[a][v] && !stream->options.space.is_left_out[a][v];
        }
        for (size_t v = 0; v < n && n_left == 0; v++) stream->has_value[a][v] = true;
    }
}

/* Paths through a loader: a step with a back end, and the loader with what decides which of its rows run, and how. */
static uint32_t *hits_of(struct cs_plan_stream *stream, const struct cs_fuzz_plan *plan, size_t step) {
    return &stream->hits[(size_t)plan->step[step].letter * CS_AXIS_VALUES + plan->axis[CS_AXIS_backend]];
}

static const enum cs_axis_id beside_loader[] = {CS_AXIS_ranks, CS_AXIS_start, CS_AXIS_engine, CS_AXIS_layer};
enum { N_BESIDE_LOADER = CS_COUNT(beside_loader) };

static uint32_t *loader_hits_of(struct cs_plan_stream *stream, const struct cs_fuzz_plan *plan, size_t i) {
    size_t loader = plan->axis[CS_AXIS_loader], value = plan->axis[beside_loader[i]];
    return &stream->loader_hits[i][loader][value];
}

/* How much of the plan goes where few went before. */
static double worth_of(struct cs_plan_stream *stream, const struct cs_fuzz_plan *plan) {
    double worth = 0, of_loader = 0;
    for (size_t i = 0; i < plan->n_steps; i++) worth += 1.0 / (1 + *hits_of(stream, plan, i));
    for (size_t i = 0; i < N_BESIDE_LOADER; i++) of_loader += 1.0 / (1 + *loader_hits_of(stream, plan, i));
    return worth / plan->n_steps + of_loader / N_BESIDE_LOADER;
}

static void note_hits(struct cs_plan_stream *stream, const struct cs_fuzz_plan *plan) {
    for (size_t i = 0; i < plan->n_steps; i++) ++*hits_of(stream, plan, i);
    for (size_t i = 0; i < N_BESIDE_LOADER; i++) ++*loader_hits_of(stream, plan, i);
}

/* A rule, or a way to write a broken scenario; a rule that is not broken soon is left to the illegal part. */
static const struct cs_rule *roll_illegal(struct cs_plan_stream *stream, struct cs_fuzz_plan *plan) {
    enum { FEW_TRIES = 16 };
    size_t i = cs_roll_below(&stream->dice, cs_n_rules + cs_n_breakages);
    if (i < cs_n_rules && roll_breaking(stream, &cs_rules[i], FEW_TRIES, plan)) return &cs_rules[i];
    roll_legal(stream, plan);
    plan->breakage = (uint8_t)(1 + i % cs_n_breakages);
    return NULL;
}

static const struct cs_rule *roll_random(struct cs_plan_stream *stream, size_t number, struct cs_fuzz_plan *plan) {
    double best = -1;
    if (number % SWARM == 0) deal_swarm(stream);
    if (cs_roll_below(&stream->dice, ILLEGAL_SHARE) == 0) return roll_illegal(stream, plan);
    for (int i = 0; i < CANDIDATES; i++) {
        struct cs_fuzz_plan candidate;
        roll_legal(stream, &candidate);
        double worth = worth_of(stream, &candidate);
        if (worth > best) best = worth, *plan = candidate;
    }
    note_hits(stream, plan);
    return NULL;
}

/* ---- the stream ---- */

static enum cs_status make(struct cs_plan_stream *stream) {
    const struct cs_stream_options *options = &stream->options;
    CS_TRY(cs_axes_cover(options->t, options->seed, &options->space, &stream->memo, &stream->arena, &stream->axes));
    CS_TRY(cs_orders_cover(options->t, options->seed, &stream->arena, &stream->orders));
    CS_REQUIRE(stream->axes.n_rows, CS_BAD_USAGE, "no legal plan is left: too much is left out");
    allow_all(stream);
    stream->dice.state = cs_stream_key(options->seed, "plans", 0);
    CS_TRY(make_guaranteed(stream));
    CS_TRY(make_illegal(stream));
    choose_tiny(stream);
    stream->n_exhaustive = n_sequences(options->depth);
    stream->hits = CS_NEW_ARRAY(&stream->arena, uint32_t, 256 * CS_AXIS_VALUES);
    CS_REQUIRE(stream->hits, CS_NO_MEMORY, "out of memory for a campaign");
    stream->dice.state = cs_stream_key(options->seed, "random", 0);
    return CS_OK;
}

enum cs_status cs_stream_open(const struct cs_stream_options *options, struct cs_plan_stream **stream) {
    struct cs_plan_stream *made = calloc(1, sizeof *made);
    CS_REQUIRE(made, CS_NO_MEMORY, "out of memory for a campaign");
    made->options = *options;
    *stream = made;
    return make(made);
}

enum cs_status cs_stream_next(struct cs_plan_stream *stream, struct cs_fuzz_plan *plan, enum cs_part *part,
                              const struct cs_rule **breaks) {
    size_t number = stream->next++;
    *breaks = NULL;
    if (number < stream->n_guaranteed) {
        *part = CS_PART_GUARANTEED;
        *plan = stream->guaranteed[number];
        return CS_OK;
    }
    number -= stream->n_guaranteed;
    if (number < stream->n_illegal) {
        *part = CS_PART_ILLEGAL;
        *plan = stream->illegal[number].plan;
        *breaks = stream->illegal[number].rule;
        return CS_OK;
    }
    number -= stream->n_illegal;
    if (number < stream->n_exhaustive) {
        *part = CS_PART_EXHAUSTIVE;
        *plan = stream->tiny;
        sequence_of(number, plan);
        fit_steps(plan);
        struct cs_dice dice = {cs_stream_key(stream->options.seed, "exhaustive", number)};
        plan->seed = cs_roll(&dice) >> 1;
        deal_checkpoints(plan, &dice);
        return CS_OK;
    }
    *part = CS_PART_RANDOM;
    *breaks = roll_random(stream, number - stream->n_exhaustive, plan);
    return CS_OK;
}

const struct cs_axes_cover *cs_stream_axes(const struct cs_plan_stream *stream) { return &stream->axes; }
const struct cs_orders_cover *cs_stream_orders(const struct cs_plan_stream *stream) { return &stream->orders; }
const struct cs_fuzz_plan *cs_stream_guaranteed(const struct cs_plan_stream *stream, size_t *n) {
    *n = stream->n_guaranteed;
    return stream->guaranteed;
}
size_t cs_stream_n_fixed(const struct cs_plan_stream *stream) {
    return stream->n_guaranteed + stream->n_illegal + stream->n_exhaustive;
}

void cs_stream_close(struct cs_plan_stream *stream) {
    if (!stream) return;
    cs_arena_release(&stream->arena);
    free(stream);
}
