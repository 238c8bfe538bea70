/* Rows of known.h as constants: the words of a program, read by the compiler. C++ only. */
#ifndef CS_GPU_KNOWN_PARSE_H
#define CS_GPU_KNOWN_PARSE_H

extern "C" {
#include "gpu/known.h"
}

namespace {

struct known_word {
    const char *start;
    int length;
};

/* The next word from *text on; none at the end. */
constexpr known_word next_known_word(const char **text) {
    while (**text == ' ') ++*text;
    known_word word = {*text, 0};
    while (**text && **text != ' ') ++*text, word.length++;
    return word;
}

constexpr bool is_known_word(const known_word &word, const char *name) {
    for (int i = 0; i < word.length; i++)
        if (name[i] == 0 || name[i] != word.start[i]) return false;
    return name[word.length] == 0;
}

constexpr int known_dtype(const known_word &word) {
#define X(id, name, safetensors, bits, floating)                                                                       \
    if (is_known_word(word, name)) return CS_##id;
    CS_DTYPES(X)
#undef X
    return -1;
}

enum known_argument { NOTHING, VALUE, BITS, DTYPE };

struct known_code {
    int code;
    known_argument argument;
};
constexpr known_code known_code_of(const known_word &word) {
#define X(id, name, argument)                                                                                          \
    if (is_known_word(word, name)) return known_code{CS_CODE_##id, argument};
    CS_CODES(X)
#undef X
    return known_code{-1, NOTHING};
}

/* A letter of an operand, n for a number; -2: neither. */
constexpr int known_operand(const known_word &word, int n_operands) {
    if (is_known_word(word, "n")) return -1;
    return word.length == 1 && *word.start >= 'a' && *word.start < 'a' + n_operands ? *word.start - 'a' : -2;
}

constexpr bool add_known_instruction(struct cs_gpu_known_program &program, const known_code &code, const known_word &word) {
    if (code.code < 0 || program.n_instructions == CS_GPU_KNOWN_LENGTH) return false;
    auto &instruction = program.instruction[program.n_instructions++];
    const int dtype = code.argument == DTYPE ? known_dtype(word) : 0;
    instruction.code = static_cast<enum cs_code>(code.code);
    instruction.operand = code.argument == VALUE || code.argument == BITS ? known_operand(word, program.n_operands) : -1;
    instruction.dtype = static_cast<enum cs_dtype>(dtype < 0 ? 0 : dtype);
    return dtype >= 0 && instruction.operand > -2;
}

constexpr struct cs_gpu_known_program known_program(const char *to, const char *operands, const char *text) {
    struct cs_gpu_known_program program = {text, CS_U8, {}, 0, 0, {}};
    bool is_right = true;
    program.to = static_cast<enum cs_dtype>(known_dtype(next_known_word(&to)));
    for (known_word word = next_known_word(&operands); word.length; word = next_known_word(&operands))
        program.operand[program.n_operands++] = static_cast<enum cs_dtype>(known_dtype(word));
    known_code code = {CS_CODE_LOAD, VALUE}; /* of the first word */
    for (known_word word = next_known_word(&text); word.length && is_right; word = next_known_word(&text)) {
        if (program.n_instructions > 0) {
            code = known_code_of(word);
            if (code.argument != NOTHING) word = next_known_word(&text);
        }
        is_right = add_known_instruction(program, code, word);
    }
    if (!is_right) program.n_instructions = -1;
    return program;
}

} // namespace

#endif
