/* Provenance: follows one element through the trace of the failing session, back to where its value came from: a
 * loader, a fill, or memory that nobody wrote. */
#include "sim/audit/state.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_LINES = 15, LONGEST_WALK = 32 };

struct walk {
    const struct cs_log *log;
    int rank;
    uint64_t storage;
    int64_t bit;                     /* of the element, in its storage */
    size_t end;                      /* entries before this one happened earlier */
    const struct cs_log_entry *last; /* where the walk is */
    int64_t index;                   /* row-major, in last->destination */
};

/* The newest entry before walk->end that wrote the element. */
static bool find_writer(struct walk *walk) {
    while (walk->end-- > 0) {
        const struct cs_log_entry *entry = &walk->log->entries[walk->end];
        if (entry->rank != walk->rank || entry->destination_id != walk->storage) continue;
        int64_t index = cs_view_find(&entry->destination, walk->bit / cs_dtype_bits(entry->destination.dtype));
        if (index < 0) continue;
        walk->last = entry;
        walk->index = index;
        return true;
    }
    return false;
}

/* Moves to the source of the copy, cast or relayout that wrote the element; false where the value began. */
static bool step_back(struct walk *walk) {
    const struct cs_log_entry *entry = walk->last;
    bool has_source = entry->has_source && entry->kind != CS_LOG_LOAD;
    if (!has_source) return false;
    int64_t source = walk->index;
    bool is_one_to_one =
        entry->kind == CS_LOG_RELAYOUT || cs_view_numel(&entry->destination) == cs_view_numel(&entry->source);
    if (!is_one_to_one) return false; /* repeated, as a scale for each row of it is: no one element */
    if (entry->kind == CS_LOG_RELAYOUT) {
        int64_t size = entry->plan->rows * entry->plan->columns, from = cs_plan_source(entry->plan, walk->index % size);
        if (from < 0) return false; /* padding that the relayout itself adds */
        source = walk->index / size * entry->plan->source_rows * entry->plan->source_columns + from;
    }
    walk->storage = entry->source_id;
    walk->bit = cs_view_element(&entry->source, source) * cs_dtype_bits(entry->source.dtype);
    return true;
}

struct text {
    struct cs_arena *arena;
    const char **lines;
    size_t n;
};

static void say(struct text *text, const char *line) {
    if (line && text->n < MOST_LINES) text->lines[text->n++] = line;
}

static const char *coordinates(struct cs_arena *arena, const struct cs_view *view, int64_t index) {
    static const char *const three[] = {"expert", "row", "column"};
    int64_t at[CS_NDIM] = {0};
    cs_view_unravel(view, index, at);
    if (view->ndim == 1) return cs_arena_format(arena, "element %" PRId64, at[0]);
    if (view->ndim == 2) return cs_arena_format(arena, "[%" PRId64 ", %" PRId64 "]", at[0], at[1]);
    if (view->ndim == 3)
        return cs_arena_format(arena, "%s %" PRId64 ", %s %" PRId64 ", %s %" PRId64, three[0], at[0], three[1], at[1],
                               three[2], at[2]);
    return cs_arena_format(arena, "element %" PRId64, index);
}

static const char *when(struct cs_arena *arena, int load) {
    return load == 0 ? "the cold start" : cs_arena_format(arena, "reload %d", load);
}

static void say_origin(struct text *text, const struct walk *walk, int load, const char *policy) {
    static const char *const memory[] = {
        [CS_ORIGIN_FRESH] = "fresh memory, with what its pages held",
        [CS_ORIGIN_RECYCLED] = "a recycled block, with what others left there",
        [CS_ORIGIN_STALE] = "a recycled block, with its own last bytes",
    };
    const struct cs_log_entry *entry = walk->last;
    const char *at = coordinates(text->arena, &entry->destination, walk->index), *time = when(text->arena, entry->load);
    switch (entry->kind) {
    case CS_LOG_ALLOCATE:
        say(text, cs_arena_format(text->arena, "its value began as %s of %s, and nobody wrote it since %s: %s", at,
                                  entry->what, time, memory[entry->origin]));
        break;
    case CS_LOG_LOAD:
        say(text,
            cs_arena_format(text->arena, "its value began in checkpoint tensor %s, copied to %s by loader %s in %s",
                            entry->what, at, entry->who, time));
        break;
    default:
        say(text, cs_arena_format(text->arena, "its value began as %s of %s, written by %s in %s", at, entry->what,
                                  entry->who, time));
    }
    if (entry->load < load && entry->kind != CS_LOG_ALLOCATE)
        say(text, cs_arena_format(
                      text->arena,
                      "that is older than reload %d: the load did not overwrite it, and policy %s did not refill it",
                      load, policy));
}

/* What the walk found. */
struct provenance {
    bool is_stale;  /* the value passed through bytes that an earlier load left */
    bool is_loaded; /* a loader of this load put it there */
    const struct cs_log_entry *began; /* where the value began, or NULL */
};

static struct provenance say_path(struct text *text, struct walk *walk, int load, const char *policy) {
    bool is_stale = false, is_loaded = false;
    const struct cs_log_entry *began = NULL;
    for (int steps = 0; steps < LONGEST_WALK && find_writer(walk); steps++) {
        const struct cs_log_entry *entry = began = walk->last;
        if (entry->load < load && !is_stale && entry->has_source) {
            is_stale = true;
            say(text, cs_arena_format(text->arena,
                                      "before this load the same bytes held the result of %s (%s) of %s: kernel bytes "
                                      "of the previous update",
                                      entry->what, entry->who, when(text->arena, entry->load)));
        }
        bool is_step = entry->has_source && entry->kind != CS_LOG_LOAD;
        if (is_step && !is_stale)
            say(text, cs_arena_format(
                          text->arena, "written by %s%s%s in %s", entry->kind == CS_LOG_RELAYOUT ? "post-load " : "",
                          entry->who,
                          entry->kind == CS_LOG_RELAYOUT ? "" : cs_arena_format(text->arena, " of %s", entry->what),
                          when(text->arena, entry->load)));
        if (step_back(walk)) continue;
        if (entry->kind == CS_LOG_RELAYOUT)
            say(text, "its value is padding that post-load itself adds");
        else
            say_origin(text, walk, load, policy);
        is_loaded = entry->kind == CS_LOG_LOAD && entry->load == load;
        break;
    }
    return (struct provenance){is_stale, is_loaded, began};
}

static const char *param_text(struct cs_arena *arena, const struct cs_tensor_spec *spec) {
    double value = cs_padding_value(spec, false);
    return cs_arena_format(arena, "%s was created %s%s: its padding must hold %g", spec->name,
                           spec->init == CS_INIT_EMPTY ? "" : "as ", cs_init_name(spec->init), value);
}

static const struct cs_tensor_spec *spec_of(const struct cs_entry *entry) {
    for (size_t i = 0; i < entry->spec->n_tensors; i++)
        if (cs_text_equal(entry->spec->tensors[i].name, entry->name)) return &entry->spec->tensors[i];
    return NULL;
}

/* R8.2: equal under other garbage → deterministic; else undefined memory. */
static bool depends_on_memory(const struct cs_entry *entry, const struct cs_state *now, const struct cs_state *other) {
    const struct cs_entry *a = cs_state_find(now, entry, 0), *b = cs_state_find(other, entry, 0);
    return a && b && cs_entry_differs(a, b);
}

static void say_kind(struct text *text, const struct cs_first *first, struct provenance from, bool is_random,
                     const char *policy) {
    const char *kind = "";
    bool is_padding = first->byte_class == CS_BYTE_PADDING, is_split = is_padding && from.is_loaded;
    if (is_split)
        kind = "P5: a loader put rows of another split into the padding";
    else if (is_padding && from.is_stale)
        kind = "P2: stale kernel bytes in padding (in-place reload)";
    else if (is_padding && is_random)
        kind = "P1: garbage padding after rematerialisation";
    else if (is_padding)
        kind = "P3: wrong padding value";
    else
        kind = is_random ? "R5: a tensor that was not sent is garbage"
                         : "P5 or L1: rows of another split, or an old loader on a new layout";
    say(text, cs_arena_format(text->arena, "looks like %s", kind));
    bool can_cure = is_padding && !is_split && !cs_text_equal(policy, "record_and_fill");
    if (can_cure)
        say(text, "cure: record each load's padding and fill it right before post-load (--policy record_and_fill)");
}

/* "w13_bias 2, w2_bias 2": what differs, by parameter name. */
static const char *summary(struct cs_arena *arena, const struct cs_state *now, const struct cs_state *cold) {
    enum { MOST_NAMES = 16 };
    const char *names[MOST_NAMES], *line = NULL;
    int64_t n[MOST_NAMES] = {0}, all[MOST_NAMES] = {0};
    size_t n_names = 0;
    for (size_t i = 0; i < cold->n; i++) {
        const struct cs_entry *fresh = &cold->entries[i], *entry = cs_state_find(now, fresh, i);
        if (fresh->kind != CS_ENTRY_PARAM) continue;
        size_t k = 0;
        while (k < n_names && !cs_text_equal(names[k], fresh->name)) k++;
        if (k == MOST_NAMES) continue;
        if (k == n_names) names[n_names++] = fresh->name;
        all[k]++;
        n[k] += !entry || cs_entry_differs(entry, fresh);
    }
    for (size_t k = 0; k < n_names; k++)
        if (n[k])
            line = cs_arena_format(arena, "%s%s%s %" PRId64 " of %" PRId64,
                                   line ? line : "differing: ", line ? ", " : "", names[k], n[k], all[k]);
    return line;
}

static struct provenance say_provenance(struct text *text, const struct cs_case *failing, const struct cs_entry *entry,
                                        int64_t element) {
    const struct cs_session *live = failing->live;
    const struct cs_view *view =
        &cs_module_slot(&live->ranks[entry->rank].modules[entry->module], entry->name)->param->view;
    struct walk walk = {
        .log = &live->log, .rank = entry->rank, .storage = view->storage->id, .end = live->log.n_entries};
    walk.bit = cs_view_element(view, element) * cs_dtype_bits(view->dtype);
    return say_path(text, &walk, live->log.load, live->config.policy);
}

/* The kind of operation and its name, without places: failures with one cause have one text. */
static void name_writer(const struct cs_log_entry *began, char *writer, size_t size) {
    static const char *const kinds[] = {
#define X(id, name) [CS_LOG_##id] = (name),
        CS_LOG_KINDS(X)
#undef X
    };
    bool is_nobody = !began || began->kind == CS_LOG_ALLOCATE;
    snprintf(writer, size, "%s%s%s", is_nobody ? "nobody" : kinds[began->kind], is_nobody || !began->who ? "" : " ",
             is_nobody || !began->who ? "" : began->who);
}

enum cs_status cs_explain(const struct cs_case *failing, const struct cs_entry *entry, int64_t element,
                          struct cs_arena *arena, struct cs_verdict *verdict) {
    struct text text = {.arena = arena, .lines = CS_NEW_ARRAY(arena, const char *, MOST_LINES)};
    CS_REQUIRE(text.lines, CS_NO_MEMORY, "out of memory for an explanation");
    verdict->why = text.lines;
    say(&text, summary(arena, failing->now, failing->cold));
    bool is_random = failing->garbage && depends_on_memory(entry, failing->now, failing->garbage);
    struct provenance from = {0};
    if (element >= 0 && failing->live->log.is_full)
        say(&text, "where it came from is not known: the trace is full; take fewer layers or experts");
    else if (element >= 0)
        from = say_provenance(&text, failing, entry, element);
    name_writer(from.began, verdict->writer, sizeof verdict->writer);
    const struct cs_tensor_spec *spec = spec_of(entry);
    if (spec && verdict->first.byte_class == CS_BYTE_PADDING) say(&text, param_text(arena, spec));
    say(&text, is_random ? "the tensor changes with what undefined memory holds"
                         : "the tensor does not depend on undefined memory: a deterministic fault");
    say_kind(&text, &verdict->first, from, is_random, failing->live->config.policy);
    verdict->n_why = text.n;
    return CS_OK;
}
