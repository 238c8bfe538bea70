#include "sim/report/report.h"

#include <stdlib.h>
#include <string.h>

static const char *number_difference(const char *name, int64_t a, int64_t b, struct cs_arena *arena) {
    return a == b ? NULL : cs_arena_format(arena, "%s %" PRId64 ", then %" PRId64, name, a, b);
}

static const char *count_difference(const struct cs_verdict *a, const struct cs_verdict *b, struct cs_arena *arena) {
    for (enum cs_count i = 0; i < CS_N_COUNTS; i++)
        if (a->count[i] != b->count[i]) return number_difference(cs_count_names[i], a->count[i], b->count[i], arena);
    const struct {
        const char *name;
        int64_t a, b;
    } others[] = {
        {"parameters", a->params_total, b->params_total},
        {"judged expectations", a->n_expectations, b->n_expectations},
        {"tensors not simulated", a->not_simulated, b->not_simulated},
        {"bytes moved", a->bytes_moved, b->bytes_moved},
        {"peak bytes", a->bytes_peak, b->bytes_peak},
    };
    for (size_t i = 0; i < CS_COUNT(others); i++)
        if (others[i].a != others[i].b) return number_difference(others[i].name, others[i].a, others[i].b, arena);
    return NULL;
}

/* What cs_report_text prints, for free(); NULL: no memory. */
static char *text_of(const struct cs_verdict *verdict) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) return NULL;
    cs_report_text(out, verdict, false);
    if (verdict->warning) fprintf(out, "warning: %s\n", verdict->warning);
    if (fclose(out) == 0) return text;
    free(text);
    return NULL;
}

/* The first line that differs, of both. */
static const char *line_difference(const char *a, const char *b, struct cs_arena *arena) {
    for (;;) {
        int n_a = (int)strcspn(a, "\n"), n_b = (int)strcspn(b, "\n");
        if (n_a != n_b || strncmp(a, b, (size_t)n_a) != 0 || !a[n_a] || !b[n_b])
            return cs_arena_format(arena, "\"%.*s\", then \"%.*s\"", n_a, a, n_b, b);
        a += n_a + 1;
        b += n_b + 1;
    }
}

static const char *text_difference(const struct cs_verdict *a, const struct cs_verdict *b, struct cs_arena *arena) {
    char *text_a = text_of(a), *text_b = text_of(b);
    const char *difference = "no memory to compare their texts";
    if (text_a && text_b) difference = strcmp(text_a, text_b) == 0 ? NULL : line_difference(text_a, text_b, arena);
    free(text_a);
    free(text_b);
    return difference;
}

const char *cs_report_difference(const struct cs_verdict *a, const struct cs_verdict *b, struct cs_arena *arena) {
    const char *difference = NULL;
    if (a->status != b->status)
        difference =
            cs_arena_format(arena, "%s, then %s", cs_verdict_status_name(a->status), cs_verdict_status_name(b->status));
    if (!difference) difference = count_difference(a, b, arena);
    if (!difference && a->digest != b->digest)
        difference = cs_arena_format(arena, "equal counts over other bytes: digest %016" PRIx64 ", then %016" PRIx64,
                                     a->digest, b->digest);
    return difference ? difference : text_difference(a, b, arena);
}
