#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support_cli.h"

struct outcome outcome;
char original_folder[4096];
static char folder[64];

static void read_text(const char *path, char *text) {
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, CLI_OUTPUT - 1, file)] = '\0';
    fclose(file);
}

void run_program(const char *program, const char *arguments) {
    char command[4096];
    snprintf(command, sizeof command, "exec >out.txt 2>err.txt; '%s' %s", program, arguments);
    int status = system(command);
    assert_true(WIFEXITED(status));
    outcome.status = WEXITSTATUS(status);
    read_text("out.txt", outcome.out);
    read_text("err.txt", outcome.err);
}

void assert_program_refuses(const char *program, const char *arguments, int status, const char *message) {
    run_program(program, arguments);
    if (outcome.status != status) fail_msg("\"%s\": exit status %d, not %d: %s", arguments, outcome.status, status, outcome.err);
    assert_string_equal(outcome.out, "");
    assert_says(outcome.err, "coldstart: ");
    assert_says(outcome.err, message);
}

void write_text(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

void write_toy(const char *path, const char *name, const char *tags, const char *expectation) {
    char text[2048];
    snprintf(text, sizeof text,
             "return cs.scenario {\n"
             "  name = \"%s\", tags = { %s },\n"
             "  model = cs.toy { params = { { name = \"weight\", shape = 8, dtype = \"f32\" } },\n"
             "                   loads = { A = { { param = \"weight\", shape = 8, value = 1 } },\n"
             "                             B = { { param = \"weight\", shape = 8, value = 2 } } } },\n"
             "  policies = { \"none\", \"record_and_fill\" },\n"
             "  run = function(s)\n"
             "    s:cold_start \"A\"\n"
             "    s:reload { driver = \"layerwise\", checkpoint = \"B\" }\n"
             "    s:expect(%s)\n"
             "  end,\n"
             "}\n",
             name, tags, expectation);
    write_text(path, text);
}

void write_model(const char *path) {
    write_text(path, "return cs.scenario {\n"
                     "  name = \"dense\", policies = { \"none\" },\n"
                     "  model = cs.model { name = \"norms\", layers = 2, hidden = 8, modules = {\n"
                     "    cs.module { name = \"layers.{layer}.norm\", tensors = { { name = \"weight\", shape = \"H\", dtype = \"bf16\" } } } } },\n"
                     "  checkpoints = { A = cs.synthetic(), B = cs.perturbed \"A\" },\n"
                     "  run = function(s)\n"
                     "    s:cold_start \"A\"\n"
                     "    s:reload { driver = \"layerwise\", checkpoint = \"B\" }\n"
                     "    s:expect(cs.equal())\n"
                     "  end,\n"
                     "}\n");
}

int enter_new_folder(void) {
    strcpy(folder, "/tmp/coldstart_cli_XXXXXX");
    return getcwd(original_folder, sizeof original_folder) && mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

int leave_folder(void) {
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return chdir(original_folder) == 0 && system(command) == 0 ? 0 : -1;
}
