#include "sim/conform/internal.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* clang-format off */
static const struct cs_golden_family families[CS_CONFORM_FAMILIES] = {
    {"layouts", cs_golden_layouts, cs_golden_describe_layout},
    {"loaders", cs_golden_loaders, cs_golden_describe_loader},
    {"reload", cs_golden_reload, cs_golden_describe_reload},
};
/* clang-format on */

/* ---- one case ---- */

static bool is_selected(const struct cs_conform_run *run, const char *file, const char *id) {
    const char *filter = run->options->filter;
    if (!filter) return true;
    struct cs_arena arena = {0};
    const char *name = cs_arena_format(&arena, "%s/%s/%s", run->count->family, file, id);
    bool is_in = name && strstr(name, filter);
    cs_arena_release(&arena);
    return is_in;
}

static void describe(struct cs_conform_run *run, const json_t *json, const void *context, cs_golden_check *check) {
    struct cs_conform_subject subject = {0};
    if (check && run->status == CS_OK && run->describe(json, context, &subject))
        run->status = cs_golden_add_subject(run, &subject);
}

void cs_golden_judge(struct cs_conform_run *run, const char *file, const char *id, const json_t *json,
                     const void *context, cs_golden_check *check) {
    if (run->subjects) {
        describe(run, json, context, check);
        return;
    }
    if (!is_selected(run, file, id)) return;
    struct cs_conform_count *count = run->count;
    if (!check) {
        count->unsupported++;
        return;
    }
    struct cs_golden_case golden = {
        .folder = run->folder, .id = id, .json = json, .context = context, .device = run->options->device};
    FILE *out = run->options->out;
    if (check(&golden) != CS_OK) {
        count->failed++;
        fprintf(out, "FAILED %s/%s/%s: %s\n", count->family, file, id, cs_error_text());
    } else {
        count->passed++;
        if (golden.defect) {
            count->with_defect++;
            fprintf(out, "passed %s/%s/%s: with defect %s\n", count->family, file, id, golden.defect);
        }
    }
    cs_arena_release(&golden.arena);
}

void cs_golden_cannot_replay(struct cs_conform_run *run, const char *file, const char *id) {
    if (is_selected(run, file, id)) run->count->not_replayable++;
}

static const char *names_of(struct cs_golden_case *golden, cs_defect_set defects) {
    const char *names = NULL;
    for (int i = 0; i < CS_N_DEFECTS; i++) {
        if (!(defects & CS_DEFECT_BIT(i))) continue;
        const char *name = cs_defect_name((enum cs_defect)i);
        names = names ? cs_arena_format(&golden->arena, "%s, %s", names, name) : name;
    }
    return names;
}

enum cs_status cs_golden_try_defects(struct cs_golden_case *golden, cs_defect_set defects, cs_golden_attempt *attempt) {
    cs_defect_set passed = 0;
    enum cs_status status = attempt(golden, 0);
    if (status == CS_OK || !defects) return status;
    for (int i = 0; i < CS_N_DEFECTS && !passed; i++) {
        cs_defect_set one = defects & CS_DEFECT_BIT(i);
        if (!one) continue;
        status = attempt(golden, one);
        if (status == CS_OK) passed = one;
    }
    if (!passed && (defects & (defects - 1))) status = attempt(golden, passed = defects);
    CS_TRY(status);
    golden->defect = names_of(golden, passed);
    CS_REQUIRE(golden->defect, CS_NO_MEMORY, "no memory for the names of defects");
    return CS_OK;
}

enum cs_status cs_golden_try_defect(struct cs_golden_case *golden, enum cs_defect defect, cs_golden_attempt *attempt) {
    return cs_golden_try_defects(golden, CS_DEFECT_BIT(defect), attempt);
}

/* ---- refusals ---- */

enum cs_status cs_golden_class(const char *exception, enum cs_status *status) {
    static const struct {
        const char *type;
        enum cs_status status;
    } classes[] = {
        {"AssertionError", CS_BAD_VALUE}, {"AttributeError", CS_BAD_VALUE},
        {"IndexError", CS_BAD_INDEX},     {"NotImplementedError", CS_REFUSED},
        {"RuntimeError", CS_BAD_SHAPE},   {"TypeError", CS_BAD_TYPE},
        {"ValueError", CS_BAD_VALUE},
    };
    for (size_t i = 0; i < CS_COUNT(classes); i++) {
        size_t length = strlen(classes[i].type);
        if (strncmp(exception, classes[i].type, length) != 0) continue;
        *status = classes[i].status;
        return CS_OK;
    }
    return cs_fail(CS_BAD_VALUE, "golden file: exception \"%.60s\" has no class here", exception);
}

/* Whether `reason` has the text of an exception, "Type('text')". */
static bool says(const char *exception, const char *reason) {
    const char *start = strpbrk(exception, "'\"");
    size_t length = start ? strcspn(start + 1, "'\"") : 0;
    char text[128];
    if (!length || length >= sizeof text) return false;
    memcpy(text, start + 1, length);
    text[length] = 0;
    return strstr(reason, text) != NULL;
}

enum cs_status cs_golden_refusal(const char *exception, enum cs_status got) {
    enum cs_status expected = CS_OK;
    CS_REQUIRE(got != CS_OK, CS_BAD_VALUE, "expected a refusal (%.80s), got none", exception);
    if (got == CS_NO_MEMORY || got == CS_INTERNAL || got == CS_BAD_FILE) return got;
    struct cs_arena arena = {0};
    const char *reason = cs_arena_text(&arena, cs_error_text());
    enum cs_status status = cs_golden_class(exception, &expected);
    bool is_in_its_words = got == CS_REFUSED && reason && says(exception, reason); /* our class for faults of theirs */
    /* torch has no such operation for numbers of 4 or 8 bits: which of our classes says so depends on who meets them */
    bool is_of_dtype = strstr(exception, "not implemented for") && (got == CS_BAD_TYPE || got == CS_BAD_SHAPE);
    if (status == CS_OK && got != expected && !is_in_its_words && !is_of_dtype)
        status = cs_fail(CS_BAD_VALUE, "expected a refusal of class %s (%.80s), got class %s: %s",
                         cs_status_name(expected), exception, cs_status_name(got), reason ? reason : "");
    cs_arena_release(&arena);
    return status;
}

/* ---- all of them ---- */

static void print_count(FILE *out, const struct cs_conform_count *count) {
    fprintf(out, "%s: %" PRId64 " passed", count->family, count->passed);
    if (count->with_defect) fprintf(out, " (%" PRId64 " only with a known defect)", count->with_defect);
    fprintf(out, ", %" PRId64 " failed, %" PRId64 " unsupported", count->failed, count->unsupported);
    if (count->not_replayable)
        fprintf(out, ", %" PRId64 " not replayable (their memory held what nobody recorded)", count->not_replayable);
    fputc('\n', out);
}

static void add(struct cs_conform_count *total, const struct cs_conform_count *count) {
    total->passed += count->passed;
    total->failed += count->failed;
    total->unsupported += count->unsupported;
    total->not_replayable += count->not_replayable;
    total->with_defect += count->with_defect;
}

/* A folder that is not there holds no cases; one that cannot be looked at is an error. */
static enum cs_status is_folder(const char *path, bool *is_there) {
    struct stat info;
    *is_there = stat(path, &info) == 0;
    CS_REQUIRE(*is_there || errno == ENOENT, CS_BAD_FILE, "cannot read \"%s\": %s", path, strerror(errno));
    CS_REQUIRE(!*is_there || S_ISDIR(info.st_mode), CS_BAD_FILE, "%s: is not a folder", path);
    return CS_OK;
}

static enum cs_status run_family(const struct cs_conform_options *options, const struct cs_golden_family *family,
                                 struct cs_arena *arena, struct cs_conform_count *count) {
    count->family = family->name;
    struct cs_conform_run run = {.options = options, .count = count};
    run.folder = cs_arena_format(arena, "%s/%s", options->folder, family->name);
    CS_REQUIRE(run.folder, CS_NO_MEMORY, "no memory for a path");
    bool is_there;
    CS_TRY(is_folder(run.folder, &is_there));
    if (!is_there) return CS_OK;
    CS_TRY(family->run(&run));
    print_count(options->out, count);
    return CS_OK;
}

enum cs_status cs_conform(const struct cs_conform_options *options, struct cs_conform_result *result) {
    *result = (struct cs_conform_result){.total.family = "total"};
    bool is_there;
    CS_TRY(is_folder(options->folder, &is_there));
    CS_REQUIRE(is_there, CS_BAD_FILE, "%s: no such folder", options->folder);

    struct cs_arena arena = {0};
    enum cs_status status = CS_OK;
    for (size_t f = 0; f < CS_CONFORM_FAMILIES && status == CS_OK; f++) {
        status = run_family(options, &families[f], &arena, &result->family[f]);
        add(&result->total, &result->family[f]);
    }
    cs_arena_release(&arena);
    if (status != CS_OK) return status;
    const struct cs_conform_count *total = &result->total;
    fprintf(options->out, "%" PRId64 " of %" PRId64 " passed, %" PRId64 " unsupported\n", total->passed,
            total->passed + total->failed, total->unsupported);
    return CS_OK;
}

/* ---- what they are about ---- */

static enum cs_status describe_family(const char *folder, const struct cs_golden_family *family, struct cs_arena *arena,
                                      struct cs_conform_subjects *subjects) {
    const struct cs_conform_options options = {.folder = folder};
    struct cs_conform_count count = {.family = family->name};
    struct cs_conform_run run = {
        .options = &options, .count = &count, .subjects = subjects, .arena = arena, .describe = family->describe};
    run.folder = cs_arena_format(arena, "%s/%s", folder, family->name);
    CS_REQUIRE(run.folder, CS_NO_MEMORY, "no memory for a path");
    bool is_there;
    CS_TRY(is_folder(run.folder, &is_there));
    if (!is_there) return CS_OK;
    CS_TRY(family->run(&run));
    return run.status;
}

enum cs_status cs_conform_subjects(const char *folder, struct cs_arena *arena, struct cs_conform_subjects *subjects) {
    *subjects = (struct cs_conform_subjects){0};
    bool is_there;
    CS_TRY(is_folder(folder, &is_there));
    CS_REQUIRE(is_there, CS_BAD_FILE, "%s: no such folder", folder);
    for (size_t f = 0; f < CS_CONFORM_FAMILIES; f++) CS_TRY(describe_family(folder, &families[f], arena, subjects));
    return CS_OK;
}
