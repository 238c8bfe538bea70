/* The registry of mutants, and sets of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "sim/matrix/matrix.h"

static bool is_channel(const char *name) {
    for (size_t i = 0; i < cs_n_channels; i++)
        if (cs_text_equal(cs_channels[i].name, name)) return true;
    return false;
}

static void rows_are_sorted_and_say_what_is_wrong_and_who_should_see_it(void **state) {
    (void)state;
    for (int i = 0; i < CS_N_DEFECTS; i++) {
        const struct cs_defect_row *row = cs_defect_row((enum cs_defect)i);
        enum cs_defect defect;
        assert_int_equal(cs_defect_parse(row->name, &defect), CS_OK);
        assert_int_equal(defect, i);
        assert_non_null(memchr("PSVLRTNCWX", row->group[0], 10));
        assert_true(strlen(row->text) > 10);
        if (!is_channel(row->channel)) fail_msg("%s: no channel is named \"%s\"", row->name, row->channel);
        if (i) assert_true(strcmp(cs_defect_name((enum cs_defect)(i - 1)), row->name) < 0);
    }
}

static void an_unknown_name_is_told_the_nearest(void **state) {
    (void)state;
    enum cs_defect defect;
    assert_int_equal(cs_defect_parse("streamed_padded_spilt", &defect), CS_BAD_VALUE);
    assert_non_null(strstr(cs_error_text(), "streamed_padded_spilt"));
    assert_non_null(strstr(cs_error_text(), "did you mean \"streamed_padded_split\""));
}

/* The empty set is the released engine: its standing faults are on, and nothing else. */
static void sets_hold_what_differs_from_the_release(void **state) {
    (void)state;
    for (int i = 0; i < CS_N_DEFECTS; i++) {
        enum cs_defect defect = (enum cs_defect)i;
        bool is_standing = cs_defect_row(defect)->state == CS_STANDING;
        assert_int_equal(cs_defects_have(0, defect), is_standing);
        cs_defect_set other = cs_defects_with(0, defect, !is_standing);
        assert_true(other == CS_DEFECT_BIT(defect));
        assert_int_equal(cs_defects_have(other, defect), !is_standing);
        assert_true(cs_defects_with(other, defect, !is_standing) == other);
        assert_true(cs_defects_with(other, defect, is_standing) == 0);
        for (int j = 0; j < CS_N_DEFECTS; j++)
            if (j != i)
                assert_int_equal(cs_defects_have(other, (enum cs_defect)j), cs_defects_have(0, (enum cs_defect)j));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_sorted_and_say_what_is_wrong_and_who_should_see_it),
        cmocka_unit_test(an_unknown_name_is_told_the_nearest),
        cmocka_unit_test(sets_hold_what_differs_from_the_release),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
