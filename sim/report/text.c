#include "sim/report/report.h"

#include <string.h>

/* Words and colours (ANSI) of a status; the first column is as wide as the longest that is usual. */
static const struct {
    const char *word, *colour;
} statuses[] = {
    [CS_PASSED] = {"PASSED", "32"},         [CS_FAILED] = {"FAILED", "31"},
    [CS_MISTRUSTED] = {"MISTRUSTED", "33"}, [CS_REFUSED_AS_UPSTREAM] = {"REFUSED", "36"},
    [CS_SKIPPED] = {"SKIPPED", "36"},
};

/* ---- counting ---- */

void cs_report_count(struct cs_report_totals *totals, const struct cs_verdict *verdict) {
    enum cs_verdict_status status = verdict->status;
    totals->passed += status == CS_PASSED || status == CS_REFUSED_AS_UPSTREAM;
    totals->failed += status == CS_FAILED || status == CS_MISTRUSTED;
    totals->skipped += status == CS_SKIPPED;
    totals->refused += status == CS_REFUSED_AS_UPSTREAM;
    totals->mistrusted += status == CS_MISTRUSTED;
}

void cs_report_text_totals(FILE *out, const struct cs_report_totals *totals) {
    fprintf(out, "%" PRId64 " refused (counted as passed), %" PRId64 " mistrusted (counted as failed)\n",
            totals->refused, totals->mistrusted);
    fprintf(out, "%" PRId64 " passed, %" PRId64 " failed, %" PRId64 " skipped\n", totals->passed, totals->failed,
            totals->skipped);
}

/* ---- the expectation behind a verdict ---- */

/* Of the line that the verdict names; NULL: none was judged. */
static const struct cs_expected *judged(const struct cs_verdict *verdict) {
    const struct cs_scenario *scenario = verdict->scenario;
    for (size_t i = 0; i < scenario->n_ops; i++)
        if (scenario->ops[i].kind == CS_OP_EXPECT && scenario->ops[i].line == verdict->line)
            return cs_expected_for(&scenario->ops[i], verdict->policy);
    return NULL;
}

/* Whether the expectation says anything about a count, and what. */
static bool is_expected(const struct cs_expected *expected, enum cs_count count, int64_t *value) {
    if (!expected || expected->is_equal) {
        *value = 0;
        return cs_count_is_channel(count) || count == CS_COUNT_params_lucky;
    }
    *value = expected->count[count];
    return expected->has_count[count];
}

static void print_found(FILE *out, const struct cs_verdict *verdict) {
    const struct cs_expected *expected = judged(verdict);
    bool only_wrong = !expected || expected->is_equal, is_first = true;
    fputs("  found     ", out);
    for (enum cs_count i = 0; i < CS_N_COUNTS; i++) {
        int64_t value;
        if (!is_expected(expected, i, &value) || (only_wrong && verdict->count[i] == 0)) continue;
        fprintf(out, "%s%s = %" PRId64, is_first ? "" : ", ", cs_count_names[i], verdict->count[i]);
        is_first = false;
    }
    fputs(is_first ? "every channel 0\n" : "\n", out);
}

/* "file:line: reason"; the reason need not say the line twice. */
static void print_reason(FILE *out, const struct cs_verdict *verdict) {
    const char *reason = verdict->reason ? verdict->reason : "the expectation does not hold";
    char prefix[32];
    size_t length = (size_t)snprintf(prefix, sizeof prefix, "line %d: ", verdict->line);
    if (strncmp(reason, prefix, length) == 0) reason += length;
    int line = verdict->line ? verdict->line : verdict->scenario->line;
    fprintf(out, "  %s:%d: %s\n", verdict->scenario->file, line, reason);
}

static void print_counts(FILE *out, const struct cs_verdict *verdict) {
    for (enum cs_count i = 0; i < CS_N_COUNTS; i++) {
        if (verdict->count[i] == 0 || i == CS_COUNT_buffered_bytes) continue; /* a cost, no symptom */
        fprintf(out, "  %-13s %8" PRId64 "  %s", cs_count_names[i], verdict->count[i], cs_count_texts[i]);
        if (i == CS_COUNT_params_differ) fprintf(out, " (of %" PRId64 ")", verdict->params_total);
        fputc('\n', out);
    }
}

/* ---- the first difference ---- */

static void print_value(FILE *out, const char *label, enum cs_dtype dtype, uint64_t bits) {
    double value = cs_dtype_decode(dtype, bits);
    if (cs_dtype_is_floating(dtype))
        fprintf(out, "    %s  %.9g", label, value);
    else
        fprintf(out, "    %s  %.0f", label, value);
    fprintf(out, " (%s 0x%0*" PRIx64 ")\n", cs_dtype_name(dtype), (cs_dtype_bits(dtype) + 3) / 4, bits);
}

static void print_coordinate(FILE *out, const char *name, int64_t value) {
    if (value >= 0) fprintf(out, ", %s %" PRId64, name, value);
}

static void print_first(FILE *out, const struct cs_first *first) {
    fprintf(out, "  first difference\n    tensor    %s\n    place     rank %d", first->tensor, first->rank);
    print_coordinate(out, "layer", first->layer);
    if (first->byte_class == CS_BYTE_LAYOUT) { /* bytes at different places cannot be compared */
        fputs("\n    shape, stride or dtype differs\n", out);
        return;
    }
    print_coordinate(out, "expert", first->expert);
    print_coordinate(out, "row", first->row);
    print_coordinate(out, "column", first->column);
    fprintf(out, " (%s)\n", cs_byte_class_name(first->byte_class));
    print_value(out, "expected", first->dtype, first->expected);
    print_value(out, "actual  ", first->dtype, first->actual);
    fprintf(out, "    differs   %" PRId64 " of %" PRId64 " elements\n", first->n_elements, first->n_total);
}

static void print_luck(FILE *out, int64_t lucky) {
    fprintf(out, "  by luck: %" PRId64 " tensor%s equal only by what undefined memory happened to hold\n", lucky,
            lucky == 1 ? " is" : "s are");
}

/* ---- the command that repeats it ---- */

/* Text for a POSIX shell, quoted only if it must be. */
static void print_quoted(FILE *out, const char *word) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=@%+,-";
    if (*word && strspn(word, plain) == strlen(word)) {
        fputs(word, out);
        return;
    }
    fputc('\'', out);
    for (; *word; word++) {
        if (*word == '\'')
            fputs("'\\''", out);
        else
            fputc(*word, out);
    }
    fputc('\'', out);
}

/* `ref` is the default device; checkpoints in folders may have come from the command line, so they are named; so are
 * the values of declared options, which make the scenario what it is. */
static void print_repeat(FILE *out, const struct cs_verdict *verdict) {
    const struct cs_scenario *scenario = verdict->scenario;
    fputs("  repeat: coldstart run ", out);
    print_quoted(out, scenario->file);
    fputs(" -k ", out);
    print_quoted(out, scenario->name);
    fprintf(out, " --policy %s --seed %" PRIu64, verdict->policy, verdict->seed);
    if (!cs_text_equal(verdict->device, "ref")) fprintf(out, " --device %s", verdict->device);
    if (verdict->mutant) fprintf(out, " --mutant %s", verdict->mutant);
    for (size_t i = 0; i < scenario->n_checkpoints; i++) {
        const struct cs_checkpoint_config *checkpoint = &scenario->checkpoints[i];
        if (checkpoint->kind != CS_CHECKPOINT_FOLDER) continue;
        fprintf(out, " --checkpoint %s=", checkpoint->name);
        print_quoted(out, checkpoint->path);
    }
    for (size_t i = 0; i < scenario->n_declared; i++) {
        fprintf(out, " --set %s=", scenario->declared[i].name);
        print_quoted(out, scenario->declared[i].value);
    }
    fputc('\n', out);
}

/* ---- a verdict ---- */

static void print_key_counts(FILE *out, const struct cs_verdict *verdict) {
    int64_t differ = verdict->count[CS_COUNT_params_differ];
    const char *plural = verdict->params_total == 1 ? "" : "s";
    if (differ)
        fprintf(out, "%" PRId64 " of %" PRId64 " parameter%s differ", differ, verdict->params_total, plural);
    else
        fprintf(out, "%" PRId64 " parameter%s equal", verdict->params_total, plural);
    for (enum cs_count i = 0; i < CS_N_COUNTS; i++) {
        bool is_key = (cs_count_is_channel(i) && i != CS_COUNT_params_differ) || i == CS_COUNT_params_lucky;
        if (is_key && verdict->count[i]) fprintf(out, ", %s %" PRId64, cs_count_names[i], verdict->count[i]);
    }
}

static void print_head(FILE *out, const struct cs_verdict *verdict, bool colour) {
    const char *word = statuses[verdict->status].word;
    if (colour)
        fprintf(out, "\033[%sm%s\033[0m", statuses[verdict->status].colour, word);
    else
        fputs(word, out);
    fprintf(out, "  %s  %s  %s", verdict->scenario->name, verdict->policy, verdict->device);
    if (verdict->mutant) fprintf(out, "  mutant %s", verdict->mutant);
}

/* Everything that a reader needs to find the cause, most important first. */
static void print_details(FILE *out, const struct cs_verdict *verdict) {
    print_reason(out, verdict);
    if (verdict->expected && verdict->n_expectations) {
        fprintf(out, "  expected  %s\n", verdict->expected);
        print_found(out, verdict);
    }
    if (verdict->refused_reason) fprintf(out, "  refused   %s\n", verdict->refused_reason);
    print_counts(out, verdict);
    if (verdict->first.exists) print_first(out, &verdict->first);
    if (verdict->n_why) fputs("  why\n", out);
    for (size_t i = 0; i < verdict->n_why; i++) fprintf(out, "    %s\n", verdict->why[i]);
    if (verdict->count[CS_COUNT_params_lucky]) print_luck(out, verdict->count[CS_COUNT_params_lucky]);
    print_repeat(out, verdict);
}

/* What was allowed to differ, and why: never silently (R7). */
static void print_excuses(FILE *out, const struct cs_verdict *verdict) {
    for (size_t i = 0; verdict->n_excused && i < verdict->scenario->n_excuses; i++) {
        const struct cs_excuse *declared = &verdict->scenario->excuses[i];
        fprintf(out, "  may differ  %s (%s): %" PRId64 " did\n", declared->tensor, declared->reason,
                verdict->n_excused[i]);
    }
}

void cs_report_text(FILE *out, const struct cs_verdict *verdict, bool colour) {
    const char *because = verdict->status == CS_REFUSED_AS_UPSTREAM ? verdict->refused_reason : verdict->reason;
    print_head(out, verdict, colour);
    switch (verdict->status) {
    case CS_PASSED:
        fputs("  ", out);
        print_key_counts(out, verdict);
        fputc('\n', out);
        print_excuses(out, verdict);
        break;
    case CS_REFUSED_AS_UPSTREAM:
    case CS_SKIPPED:
        fprintf(out, "  %s\n", because ? because : "no reason given");
        break;
    case CS_FAILED:
    case CS_MISTRUSTED:
        fputc('\n', out);
        print_details(out, verdict);
        print_excuses(out, verdict);
        break;
    }
}
