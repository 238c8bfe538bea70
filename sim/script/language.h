/* The language as its tables describe it: what stubs.c and reference.c print. Inside sim/script only. */
#ifndef CS_SCRIPT_LANGUAGE_H
#define CS_SCRIPT_LANGUAGE_H

#include <stdio.h>

#include "sim/script/arguments.h"

enum { CS_LANGUAGE_TEXT = 256 };

/* Every record that a function reads, and those within, each once; those within come first. Returns their number. */
size_t cs_language_records(const struct cs_record **records, size_t most);

/* A record whose fields are not all rows: counts come before them, policies behind. */
bool cs_record_is_expected(const struct cs_record *record);

/* Type of a field as the Lua language server writes it, in `buffer`. */
const char *cs_field_type(const struct cs_field *field, char *buffer, size_t size);
/* "1 to 64", or "". */
const char *cs_field_range(const struct cs_field *field, char *buffer, size_t size);

/* Type of parameter `index` of a function; NULL when it has no such parameter. The table of a record is "fields". */
const char *cs_binding_param(const struct cs_binding *binding, size_t index, const char **name);
/* "cs.perturbed(checkpoint [, version])", "cs.model { … }" */
const char *cs_binding_signature(const struct cs_binding *binding, char *buffer, size_t size);

/* Functions that make the same sort of thing. */
struct cs_family {
    const char *returns, *name;
};
extern const struct cs_family cs_families[];
extern const size_t cs_n_families;
/* NULL: none. */
const struct cs_family *cs_binding_family(const struct cs_binding *binding);
/* "Post-load step: the value, converted"; to `out`. */
void cs_binding_print_text(FILE *out, const struct cs_binding *binding);

#endif
