#include "tests/support_coverage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "tests/support_cli.h"

struct cs_arena arena;
struct cs_coverage_model model;
struct cs_coverage coverage;

int open_coverage(void **state) {
    (void)state;
    const struct cs_coverage_registries own = cs_coverage_own_registries();
    if (enter_new_folder() != 0 || cs_coverage_model(&model, &own, &arena) != CS_OK) return -1;
    cs_coverage_init(&coverage, &model, &arena);
    return 0;
}

int close_coverage(void **state) {
    (void)state;
    cs_arena_release(&arena);
    return leave_folder();
}

struct cs_way cell_of(const char *text) {
    struct cs_way cell;
    assert_ok(cs_cell_parse(&model, text, &cell));
    return cell;
}
