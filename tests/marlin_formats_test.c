/* Marlin's words and scales from the formats of checkpoints. Captured cases have their tensors N first; GPTQ stores them K first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ref/ref.h"
#include "sim/conform/internal.h"
#include "sim/method/methods.h"

struct fixture {
    struct cs_layer layer;
    struct cs_post_load run;
};

static void assert_fine(enum cs_status status) {
    if (status != CS_OK) fail_msg("%s", cs_error_text());
}

static void open_with(struct fixture *fixture, const struct cs_tensor_spec *specs, size_t n) {
    assert_fine(cs_layer_open_tensors(&fixture->layer, &cs_device_ref, specs, n));
    fixture->run = (struct cs_post_load){.module = &fixture->layer.module};
}

static void put(struct fixture *fixture, const char *name, const void *bytes, size_t size) {
    struct cs_view view;
    assert_fine(cs_layer_param(&fixture->layer, name, &view));
    assert_fine(cs_device_write(&cs_device_ref, &view, bytes, size));
}

#define RUN(fixture, ...)                                                                                              \
    do {                                                                                                               \
        const struct cs_step steps[] = {__VA_ARGS__};                                                                  \
        assert_fine(cs_steps_run(&(fixture)->run, steps, CS_COUNT(steps)));                                            \
    } while (0)

/* ---- captured cases, transposed ---- */

/* Of a case: the parameter's name there, GPTQ's, and that of the result. */
static const struct {
    const char *golden, *given, *made;
    bool is_transposed;
} tensors[] = {
    {"w13_qweight", "w13_qweight", "w13_weight", true}, {"w13_scales", "w13_scales", "w13_weight_scale", true},
    {"w2_qweight", "w2_qweight", "w2_weight", true},    {"w2_scales", "w2_scales", "w2_weight_scale", true},
    {"w13_bias", "w13_bias", "w13_bias", false},        {"w2_bias", "w2_bias", "w2_bias", false},
};
enum { N_TENSORS = 6 };

static const struct cs_checkpoint_entry *entry_of(const struct cs_checkpoint *file, const char *side, const char *name) {
    char text[64];
    snprintf(text, sizeof text, "%s.%s", side, name);
    return cs_checkpoint_find(file, text);
}

/* [E, N, K] → [E, K, N]. */
static unsigned char *transposed(const struct cs_checkpoint_entry *entry, struct cs_tensor_spec *spec) {
    size_t experts = (size_t)entry->shape[0], rows = (size_t)entry->shape[1], columns = (size_t)entry->shape[2];
    size_t size = entry->bytes / (experts * rows * columns);
    unsigned char *bytes = malloc(entry->bytes);
    assert_non_null(bytes);
    for (size_t e = 0; e < experts; e++)
        for (size_t n = 0; n < rows; n++)
            for (size_t k = 0; k < columns; k++)
                memcpy(bytes + ((e * columns + k) * rows + n) * size, (const char *)entry->mapped + ((e * rows + n) * columns + k) * size, size);
    spec->shape[1] = entry->shape[2], spec->shape[2] = entry->shape[1];
    return bytes;
}

static void assert_made(struct fixture *fixture, const struct cs_checkpoint_entry *expected, const char *name) {
    struct cs_view view;
    assert_fine(cs_steps_value(&fixture->run, name, &view));
    assert_int_equal(view.ndim, expected->ndim);
    for (int d = 0; d < view.ndim; d++) assert_int_equal(view.shape[d], expected->shape[d]);
    unsigned char *bytes = malloc(expected->bytes);
    assert_non_null(bytes);
    assert_fine(cs_device_read(&cs_device_ref, &view, bytes, expected->bytes));
    if (memcmp(bytes, expected->mapped, expected->bytes) != 0) fail_msg("%s: other bytes than captured", name);
    free(bytes);
}

/* Sizes, as the case's name has them. */
struct sizes {
    const char *name;
    int64_t group; /* -1: one group */
    unsigned facts;
};

static void check(const struct sizes *sizes) {
    struct fixture fixture;
    struct cs_checkpoint file;
    struct cs_tensor_spec specs[N_TENSORS];
    unsigned char *bytes[N_TENSORS];
    size_t n = 0;
    char path[512];
    snprintf(path, sizeof path, "%s/tests/golden/layouts/%s.safetensors", SOURCE_DIR, sizes->name);
    assert_fine(cs_checkpoint_open(&file, NULL, path));
    for (size_t i = 0; i < N_TENSORS; i++) {
        const struct cs_checkpoint_entry *entry = entry_of(&file, "in", tensors[i].golden);
        if (!entry) continue;
        specs[n] = (struct cs_tensor_spec){.name = tensors[i].given, .dtype = entry->dtype, .ndim = entry->ndim, .weight_loader_numel = -1};
        memcpy(specs[n].shape, entry->shape, sizeof specs[n].shape);
        bytes[n] = NULL;
        if (tensors[i].is_transposed) bytes[n] = transposed(entry, &specs[n]);
        n++;
    }
    open_with(&fixture, specs, n);
    for (size_t i = 0, s = 0; i < N_TENSORS; i++) {
        const struct cs_checkpoint_entry *entry = entry_of(&file, "in", tensors[i].golden);
        if (!entry) continue;
        put(&fixture, tensors[i].given, bytes[s] ? bytes[s] : entry->mapped, entry->bytes);
        free(bytes[s++]);
    }
    fixture.run.facts = sizes->facts | CS_FACT_GATED | (entry_of(&file, "in", "w13_bias") ? CS_FACT_BIAS : 0);
    fixture.run.block[1] = sizes->group > 0 ? sizes->group : 0;
    fixture.run.alignment[0] = cs_marlin_intermediate(1, sizes->group);
    RUN(&fixture, CS_DO_CALL(gptq_marlin));
    for (size_t i = 0; i < N_TENSORS; i++) {
        const struct cs_checkpoint_entry *entry = entry_of(&file, "out", tensors[i].golden);
        if (entry) assert_made(&fixture, entry, tensors[i].made);
    }
    cs_layer_close(&fixture.layer);
    cs_checkpoint_close(&file);
}

/* Grouped: several groups along I, of w2 as it is padded: upstream compares w13's group with I too where numbers are integers. */
static void gptq_becomes_what_was_captured_of_rows(void **state) {
    static const struct sizes cases[] = {
        {"marlin_int4_E1_I64_H64_g-1", -1, 0},
        {"marlin_int4_E1_I64_H64_g32", 32, CS_FACT_GROUPED | CS_FACT_GROUPED_W2},
        {"marlin_int4_E1_I96_H64_g32_zp", 32, CS_FACT_GROUPED | CS_FACT_GROUPED_W2},
        {"marlin_int4_E2_I32_H128_g32", 32, CS_FACT_GROUPED_W2},
        {"marlin_int8_E1_I64_H64_g64", 64, CS_FACT_8BIT},
        {"marlin_int8_E1_I96_H64_g-1_zp", -1, CS_FACT_8BIT},
    };
    (void)state;
    for (size_t i = 0; i < CS_COUNT(cases); i++) check(&cases[i]);
}

/* ---- a captured case, as AWQ packs it ---- */

/* Of words along their second or third dimension, 4-bit numbers [E, N, K]; returns them one in a byte, [E, K, N]. */
static unsigned char *numbers_of(const struct cs_checkpoint_entry *entry, bool along_rows, int64_t shape[3]) {
    int64_t experts = entry->shape[0], rows = entry->shape[1] * (along_rows ? 8 : 1), columns = entry->shape[2] * (along_rows ? 1 : 8);
    unsigned char *numbers = malloc((size_t)(experts * rows * columns));
    assert_non_null(numbers);
    for (int64_t e = 0; e < experts; e++)
        for (int64_t n = 0; n < rows; n++)
            for (int64_t k = 0; k < columns; k++) {
                int64_t word = along_rows ? (e * entry->shape[1] + n / 8) * columns + k : (e * rows + n) * entry->shape[2] + k / 8;
                uint32_t bits;
                memcpy(&bits, (const char *)entry->mapped + word * 4, sizeof bits);
                numbers[(e * columns + k) * rows + n] = bits >> 4 * ((along_rows ? n : k) % 8) & 15;
            }
    shape[0] = experts, shape[1] = columns, shape[2] = rows / 8;
    return numbers;
}

static const int awq_nibble[8] = {0, 4, 1, 5, 2, 6, 3, 7};

static uint32_t *awq_words(const unsigned char *numbers, const int64_t shape[3]) {
    size_t n = (size_t)(shape[0] * shape[1] * shape[2]);
    uint32_t *words = calloc(n, sizeof *words);
    assert_non_null(words);
    for (size_t i = 0; i < 8 * n; i++) words[i / 8] |= (uint32_t)numbers[i] << 4 * awq_nibble[i % 8];
    return words;
}

/* I = 96 is padded to 128 in each half of w13 and in w2, with groups of 32: weights, scales and zero points. */
static void awq_becomes_what_was_captured_of_rows(void **state) {
    static const struct {
        const char *golden, *given, *made;
        enum { WORDS_OF_COLUMNS, WORDS_OF_ROWS, SCALES } kind;
    } parts[] = {
        {"w13_qweight", "w13_qweight", "w13_weight", WORDS_OF_COLUMNS}, {"w2_qweight", "w2_qweight", "w2_weight", WORDS_OF_COLUMNS},
        {"w13_qzeros", "w13_qzeros", "w13_qzeros", WORDS_OF_ROWS},      {"w2_qzeros", "w2_qzeros", "w2_qzeros", WORDS_OF_ROWS},
        {"w13_scales", "w13_scales", "w13_weight_scale", SCALES},       {"w2_scales", "w2_scales", "w2_weight_scale", SCALES},
    };
    struct cs_tensor_spec specs[CS_COUNT(parts)];
    unsigned char *bytes[CS_COUNT(parts)];
    struct fixture fixture;
    struct cs_checkpoint file;
    (void)state;
    assert_fine(cs_checkpoint_open(&file, NULL, SOURCE_DIR "/tests/golden/layouts/marlin_int4_E1_I96_H64_g32_zp.safetensors"));
    for (size_t i = 0; i < CS_COUNT(parts); i++) {
        const struct cs_checkpoint_entry *entry = entry_of(&file, "in", parts[i].golden);
        assert_non_null(entry);
        specs[i] = (struct cs_tensor_spec){.name = parts[i].given, .dtype = entry->dtype, .ndim = 3, .shape = {entry->shape[0]}, .weight_loader_numel = -1};
        if (parts[i].kind == SCALES) {
            bytes[i] = transposed(entry, &specs[i]);
            continue;
        }
        unsigned char *numbers = numbers_of(entry, parts[i].kind == WORDS_OF_ROWS, specs[i].shape);
        bytes[i] = (unsigned char *)awq_words(numbers, specs[i].shape);
        free(numbers);
    }
    open_with(&fixture, specs, CS_COUNT(parts));
    for (size_t i = 0; i < CS_COUNT(parts); i++) {
        put(&fixture, parts[i].given, bytes[i], entry_of(&file, "in", parts[i].golden)->bytes);
        free(bytes[i]);
    }
    fixture.run.facts = CS_FACT_GATED | CS_FACT_GROUPED;
    fixture.run.block[1] = 32, fixture.run.alignment[0] = cs_marlin_intermediate(1, 32);
    RUN(&fixture, CS_DO_CALL(awq_marlin));
    for (size_t i = 0; i < CS_COUNT(parts); i++) assert_made(&fixture, entry_of(&file, "out", parts[i].golden), parts[i].made);
    cs_layer_close(&fixture.layer);
    cs_checkpoint_close(&file);
}

/* ---- by hand ---- */

/* The same numbers in the words of three checkpoint formats become the same words for Marlin. */
enum { SIDE = 64, WORDS = SIDE * SIDE / 8 };

static unsigned number_at(int n, int k) { return (unsigned)(n * 7 + k * 13 + n * k) & 15; }

static void pack_formats(uint32_t n_first[WORDS], uint32_t gptq[WORDS], uint32_t awq[WORDS]) {
    for (int n = 0; n < SIDE; n++)
        for (int k = 0; k < SIDE; k++) {
            uint32_t number = number_at(n, k);
            n_first[n * (SIDE / 8) + k / 8] |= number << 4 * (k % 8);
            gptq[k / 8 * SIDE + n] |= number << 4 * (k % 8);
            awq[k * (SIDE / 8) + n / 8] |= number << 4 * awq_nibble[n % 8];
        }
}

static void open_words(struct fixture *fixture, const char *name, int64_t rows, int64_t columns, const uint32_t words[WORDS]) {
    const struct cs_tensor_spec spec = {.name = name, .dtype = CS_I32, .ndim = 3, .shape = {1, rows, columns}, .weight_loader_numel = -1};
    open_with(fixture, &spec, 1);
    fixture->run.alignment[0] = SIDE;
    put(fixture, name, words, WORDS * sizeof *words);
}

static void read_words(struct fixture *fixture, const char *name, uint32_t words[WORDS]) {
    struct cs_view view;
    assert_fine(cs_steps_value(&fixture->run, name, &view));
    assert_int_equal(view.shape[1], SIDE / 16);
    assert_fine(cs_device_read(&cs_device_ref, &view, words, WORDS * sizeof *words));
}

static void marlin_words_do_not_depend_on_the_checkpoint_format(void **state) {
    static uint32_t n_first[WORDS], gptq[WORDS], awq[WORDS], expected[WORDS], got[WORDS];
    struct fixture fixture;
    (void)state;
    pack_formats(n_first, gptq, awq);
    open_words(&fixture, "w13_weight", SIDE, SIDE / 8, n_first);
    RUN(&fixture, CS_DO_TAKE("w2_weight", "w13_weight"), CS_DO_CALL(wna16_marlin_weights4));
    read_words(&fixture, "w13_weight", expected);
    cs_layer_close(&fixture.layer);
    /* layouts.md C.7: k = 0, n = 0 is nibble 0 of word 0; k = 1 nibble 4; k = 8 nibble 1; n = 8 nibble 2. */
    assert_int_equal(expected[0] & 15, number_at(0, 0));
    assert_int_equal(expected[0] >> 16 & 15, number_at(0, 1));
    assert_int_equal(expected[0] >> 4 & 15, number_at(0, 8));
    assert_int_equal(expected[0] >> 8 & 15, number_at(8, 0));
    open_words(&fixture, "w13_qweight", SIDE / 8, SIDE, gptq);
    RUN(&fixture, CS_DO_TAKE("w13_weight", "w13_qweight"), CS_DO_TAKE("w2_weight", "w13_qweight"), CS_DO_CALL(gptq_marlin_weights4));
    read_words(&fixture, "w13_weight", got);
    assert_memory_equal(got, expected, sizeof got);
    cs_layer_close(&fixture.layer);
    open_words(&fixture, "w13_qweight", SIDE, SIDE / 8, awq);
    RUN(&fixture, CS_DO_VIEW("w13_qweight", CS_E2M1), CS_DO_RELAYOUT("w13_qweight", "awq_to_marlin4"), CS_DO_RESHAPE("w13_qweight", "1 4 1024"),
        CS_DO_VIEW("w13_qweight", CS_I32));
    read_words(&fixture, "w13_qweight", got);
    assert_memory_equal(got, expected, sizeof got);
    cs_layer_close(&fixture.layer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gptq_becomes_what_was_captured_of_rows),
        cmocka_unit_test(awq_becomes_what_was_captured_of_rows),
        cmocka_unit_test(marlin_words_do_not_depend_on_the_checkpoint_format),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
