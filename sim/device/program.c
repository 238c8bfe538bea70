/* Programs: their words, and what every device may rely on when it runs one. */
#include "sim/device/device.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- words ---- */

enum argument { NOTHING, VALUE, BITS, DTYPE };

static const struct {
    const char *word;
    enum argument argument;
} codes[] = {
#define X(id, word, argument) [CS_CODE_##id] = {word, argument},
    CS_CODES(X)
#undef X
};

static struct cs_program_name next_word(const char **text) {
    *text += strspn(*text, " ");
    struct cs_program_name word = {*text, strcspn(*text, " ")};
    *text += word.length;
    return word;
}

static bool is_word(const struct cs_program_name *name, const char *word) {
    return strlen(word) == name->length && strncmp(word, name->start, name->length) == 0;
}

static enum cs_status code_of(const struct cs_program_name *word, enum cs_code *code) {
    for (size_t i = 0; i < CS_COUNT(codes); i++)
        if (is_word(word, codes[i].word)) {
            *code = (enum cs_code)i;
            return CS_OK;
        }
#define X(id, word, argument) " " word
    return cs_fail(CS_BAD_VALUE, "a program has no operation \"%.*s\"; it has:" CS_CODES(X), (int)word->length, word->start);
#undef X
}

/* A number in decimal, hexadecimal (bits) or as C writes floats in hexadecimal; anything else is a name. */
static bool number_of(const struct cs_program_name *word, enum argument argument, struct cs_instruction *instruction) {
    char text[32], *end;
    if (word->length == 0 || word->length >= sizeof text || isalpha((unsigned char)word->start[0])) return false;
    memcpy(text, word->start, word->length);
    text[word->length] = 0;
    if (argument == BITS) {
        instruction->bits = (uint32_t)strtoul(text, &end, 0);
    } else {
        instruction->number = strtof(text, &end);
        memcpy(&instruction->bits, &instruction->number, sizeof instruction->bits);
    }
    return *end == 0;
}

static enum cs_status operand_of(const struct cs_program_name *word, struct cs_program *program,
                                 struct cs_program_name *names, int *operand) {
    for (size_t i = 0; i < program->n_operands; i++)
        if (names[i].length == word->length && strncmp(names[i].start, word->start, word->length) == 0) {
            *operand = (int)i;
            return CS_OK;
        }
    CS_REQUIRE(word->length > 0, CS_BAD_VALUE, "a program ends where an operand should stand");
    CS_REQUIRE(program->n_operands < CS_PROGRAM_OPERANDS, CS_BAD_VALUE, "a program has more than %d operands",
               CS_PROGRAM_OPERANDS);
    *operand = (int)program->n_operands;
    names[program->n_operands++] = *word;
    return CS_OK;
}

/* What numbers of 32 bits can be rounded to. */
static enum cs_status float_dtype_of(const struct cs_program_name *word, enum cs_dtype *dtype) {
    static const enum cs_dtype known[] = {CS_E2M1, CS_E4M3, CS_E5M2, CS_E8M0, CS_BF16, CS_F16, CS_F32};
    for (size_t i = 0; i < CS_COUNT(known); i++)
        if (is_word(word, cs_dtype_name(known[i]))) {
            *dtype = known[i];
            return CS_OK;
        }
    return cs_fail(CS_BAD_VALUE, "a program rounds to or encodes e2m1, e4m3, e5m2, e8m0, bf16, f16 or f32, not \"%.*s\"", (int)word->length,
                   word->start);
}

static enum cs_status argument_of(const struct cs_program_name *word, enum argument argument,
                                  struct cs_program *program, struct cs_program_name *names,
                                  struct cs_instruction *instruction) {
    if (argument == DTYPE) return float_dtype_of(word, &instruction->dtype);
    if (number_of(word, argument, instruction)) return CS_OK;
    return operand_of(word, program, names, &instruction->operand);
}

enum cs_status cs_program_parse(const char *text, struct cs_program *program, struct cs_program_name *names) {
    *program = (struct cs_program){0};
    enum cs_code code = CS_CODE_LOAD; /* of the first word */
    for (struct cs_program_name word = next_word(&text); word.length; word = next_word(&text)) {
        if (program->n_instructions > 0) {
            CS_TRY(code_of(&word, &code));
            if (codes[code].argument != NOTHING) word = next_word(&text);
        }
        CS_REQUIRE(program->n_instructions < CS_PROGRAM_LENGTH, CS_BAD_VALUE, "a program has more than %d instructions",
                   CS_PROGRAM_LENGTH);
        struct cs_instruction *instruction = &program->instruction[program->n_instructions++];
        *instruction = (struct cs_instruction){.code = code, .operand = -1};
        if (codes[code].argument != NOTHING)
            CS_TRY(argument_of(&word, codes[code].argument, program, names, instruction));
    }
    CS_REQUIRE(program->n_instructions > 0, CS_BAD_VALUE, "a program is empty");
    return CS_OK;
}

/* ---- checks ---- */

static int64_t blocks(int64_t extent, int64_t block) { return (extent + block - 1) / block; }

/* Every index of the program finds its element. */
static enum cs_status check_operand(const struct cs_program *program, const struct cs_operand *operand) {
    char text[CS_VIEW_TEXT];
    const struct cs_view *view = &operand->view;
    CS_TRY(cs_view_check(view));
    CS_REQUIRE(view->ndim == program->ndim, CS_BAD_SHAPE, "a program over %d dimensions cannot use %s", program->ndim,
               cs_view_text(view, text));
    for (int d = 0; d < program->ndim; d++)
        CS_REQUIRE(operand->block[d] > 0 && blocks(program->shape[d], operand->block[d]) == view->shape[d],
                   CS_BAD_SHAPE,
                   "a program over %" PRId64 " elements of dimension %d cannot use blocks of %" PRId64 " of %s",
                   program->shape[d], d, operand->block[d], cs_view_text(view, text));
    return CS_OK;
}

static bool is_stored(const struct cs_view *view) {
    return view->storage && (view->storage->kind == CS_STORAGE_MEMORY || view->storage->kind == CS_STORAGE_HOST);
}

static bool overlap(const struct cs_view *a, const struct cs_view *b) {
    size_t start_a = cs_view_byte_offset(a), start_b = cs_view_byte_offset(b);
    return a->storage == b->storage && start_a < start_b + cs_view_span_bytes(b) &&
           start_b < start_a + cs_view_span_bytes(a);
}

static enum cs_status check_reads(const struct cs_program *program, const struct cs_view *destination) {
    for (size_t i = 0; i < program->n_operands; i++) {
        const struct cs_view *view = &program->operand[i].view;
        CS_REQUIRE(!cs_view_is_meta(view), CS_REFUSED, "a program cannot read %s: a meta tensor has no data",
                   cs_view_label(view));
        CS_REQUIRE(is_stored(view), CS_UNSUPPORTED, "a program reads memory only: copy the operand first");
        CS_REQUIRE(cs_dtype_bits(view->dtype) <= 32, CS_UNSUPPORTED, "a program does not read %s",
                   cs_dtype_name(view->dtype));
        CS_TRY(check_operand(program, &program->operand[i]));
        CS_REQUIRE(cs_view_same_place(view, destination) || !overlap(view, destination), CS_INTERNAL,
                   "a program cannot read and write %s at once", cs_view_label(destination));
    }
    return CS_OK;
}

static enum cs_status check_program(const struct cs_program *program, const struct cs_operand *destination) {
    const struct cs_view *view = &destination->view;
    CS_REQUIRE(program->ndim > 0, CS_BAD_SHAPE, "a program needs a dimension");
    CS_REQUIRE(view->storage && view->storage->kind == CS_STORAGE_MEMORY, CS_INTERNAL, "a program's result is memory");
    CS_REQUIRE(cs_dtype_bits(view->dtype) <= 32, CS_UNSUPPORTED, "a program does not write %s",
               cs_dtype_name(view->dtype));
    CS_REQUIRE(cs_dtype_bits(view->dtype) >= 8 ||
                   (cs_view_is_contiguous(view) && view->shape[view->ndim - 1] % 2 == 0 && view->offset % 2 == 0),
               CS_BAD_SHAPE, "a program writes rows of whole bytes");
    CS_TRY(check_operand(program, destination));
    return check_reads(program, view);
}

enum cs_status cs_device_map(const struct cs_device *device, const struct cs_program *program,
                             const struct cs_view *destination) {
    CS_REQUIRE(device->map, CS_UNSUPPORTED, "arithmetic: not supported by %s", device->name);
    if (cs_view_is_meta(destination)) return CS_OK;
    struct cs_operand operand = {.view = *destination};
    for (int d = 0; d < CS_NDIM; d++) operand.block[d] = 1;
    CS_TRY(check_program(program, &operand));
    return cs_view_numel(destination) == 0 ? CS_OK : device->map(device, program, destination);
}

enum cs_status cs_device_maximum(const struct cs_device *device, const struct cs_program *program,
                                 const struct cs_operand *destination) {
    CS_REQUIRE(device->maximum, CS_UNSUPPORTED, "maximum: not supported by %s", device->name);
    if (cs_view_is_meta(&destination->view)) return CS_OK;
    CS_TRY(check_program(program, destination));
    return cs_view_numel(&destination->view) == 0 ? CS_OK : device->maximum(device, program, destination);
}
