/* Scripts written into a temporary folder, which is the current one while a test runs. */
#ifndef CS_TESTS_SUPPORT_SCRIPT_H
#define CS_TESTS_SUPPORT_SCRIPT_H

#include "sim/script/internal.h"

/* cmocka fixtures: make the folder with scenarios/models in it, and remove it. */
int script_folder_setup(void **state);
int script_folder_teardown(void **state);

void script_write(const char *path, const char *text);
/* Writes `text` to s.lua and reads it, without cs_scenario_check: the registries are not this unit's matter. */
enum cs_status script_parse(const char *text, struct cs_arena *arena, struct cs_scenario *scenario);
/* Reads a scenario that must be good. */
struct cs_scenario script_parse_good(const char *text, struct cs_arena *arena);

#endif
