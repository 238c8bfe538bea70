/* A verdict as bytes: the structure itself, then everything that was made after the fork: strings, counts of excused
 * differences, and digests of states. Both processes are the same program. */
#include "sim/cli/run.h"

#include <stdlib.h>
#include <string.h>

enum { N_TEXTS = 5, WHY_MAX = 64 };

/* Where a verdict keeps its own strings, but for `why`. */
static void texts_of(struct cs_verdict *verdict, const char **texts[N_TEXTS]) {
    texts[0] = &verdict->reason;
    texts[1] = &verdict->refused_reason;
    texts[2] = &verdict->expected;
    texts[3] = &verdict->warning;
    texts[4] = &verdict->first.tensor;
}

/* ---- packing ---- */

/* Length with the final NUL, and the bytes; 0: no string. */
static void put_text(FILE *out, const char *text) {
    size_t size = text ? strlen(text) + 1 : 0;
    fwrite(&size, sizeof size, 1, out);
    if (size) fwrite(text, 1, size, out);
}

char *cs_verdict_pack(const struct cs_verdict *verdict, size_t *size) {
    struct cs_verdict copy = *verdict;
    const char **texts[N_TEXTS];
    char *bytes = NULL;
    FILE *out = open_memstream(&bytes, size);
    if (!out) return NULL;
    fwrite(verdict, sizeof *verdict, 1, out);
    texts_of(&copy, texts);
    for (size_t i = 0; i < N_TEXTS; i++) put_text(out, *texts[i]);
    for (size_t i = 0; i < verdict->n_why; i++) put_text(out, verdict->why[i]);
    if (verdict->n_excused) fwrite(verdict->n_excused, sizeof(int64_t), verdict->scenario->n_excuses, out);
    if (verdict->n_states) fwrite(verdict->states, sizeof *verdict->states, verdict->n_states, out);
    bool had_failed = ferror(out);
    if (fclose(out) == 0 && !had_failed) return bytes;
    free(bytes);
    return NULL;
}

/* ---- unpacking ---- */

struct reader {
    const char *at, *end;
    struct cs_arena *arena;
};

static enum cs_status get(struct reader *reader, void *value, size_t size) {
    CS_REQUIRE((size_t)(reader->end - reader->at) >= size, CS_INTERNAL, "a verdict of a child process is cut short");
    memcpy(value, reader->at, size);
    reader->at += size;
    return CS_OK;
}

static enum cs_status get_text(struct reader *reader, const char **text) {
    size_t size = 0;
    *text = NULL;
    CS_TRY(get(reader, &size, sizeof size));
    if (!size) return CS_OK;
    char *copy = CS_NEW_ARRAY(reader->arena, char, size);
    CS_REQUIRE(copy, CS_NO_MEMORY, "no memory for a verdict of a child process");
    *text = copy;
    return get(reader, copy, size);
}

static enum cs_status get_excused(struct reader *reader, struct cs_verdict *verdict) {
    size_t n = verdict->scenario->n_excuses;
    if (!verdict->n_excused) return CS_OK;
    int64_t *excused = CS_NEW_ARRAY(reader->arena, int64_t, n + 1);
    CS_REQUIRE(excused, CS_NO_MEMORY, "no memory for a verdict of a child process");
    verdict->n_excused = excused;
    return get(reader, excused, n * sizeof *excused);
}

static enum cs_status get_states(struct reader *reader, struct cs_verdict *verdict) {
    CS_REQUIRE(verdict->n_states <= verdict->scenario->n_ops + 1, CS_INTERNAL,
               "a verdict of a child process has %zu states of %zu operations", verdict->n_states,
               verdict->scenario->n_ops);
    struct cs_judged_state *states = CS_NEW_ARRAY(reader->arena, struct cs_judged_state, verdict->n_states + 1);
    CS_REQUIRE(states, CS_NO_MEMORY, "no memory for a verdict of a child process");
    verdict->states = states;
    return get(reader, states, verdict->n_states * sizeof *states);
}

enum cs_status cs_verdict_unpack(const char *bytes, size_t size, struct cs_arena *arena, struct cs_verdict *verdict) {
    struct reader reader = {bytes, bytes + size, arena};
    const char **texts[N_TEXTS], **why;
    CS_TRY(get(&reader, verdict, sizeof *verdict));
    texts_of(verdict, texts);
    for (size_t i = 0; i < N_TEXTS; i++) CS_TRY(get_text(&reader, texts[i]));
    CS_REQUIRE(verdict->n_why <= WHY_MAX, CS_INTERNAL, "a verdict of a child process has %zu lines of explanation",
               verdict->n_why);
    why = CS_NEW_ARRAY(arena, const char *, verdict->n_why + 1);
    CS_REQUIRE(why, CS_NO_MEMORY, "no memory for a verdict of a child process");
    for (size_t i = 0; i < verdict->n_why; i++) CS_TRY(get_text(&reader, &why[i]));
    verdict->why = verdict->n_why ? why : NULL;
    CS_TRY(get_excused(&reader, verdict));
    return get_states(&reader, verdict);
}
