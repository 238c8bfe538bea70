/* The real program in a folder of its own: runs it by a shell, keeps its exit status and what it said. */
#ifndef TESTS_SUPPORT_CLI_H
#define TESTS_SUPPORT_CLI_H

#include "tests/support_session.h" /* assert_says */

enum { CLI_OUTPUT = 1 << 16 };

struct outcome {
    int status;
    char out[CLI_OUTPUT], err[CLI_OUTPUT];
};
extern struct outcome outcome; /* of the latest run; too large for a stack */

/* Runs "coldstart `arguments`" by a shell; redirections in `arguments` win. */
#define coldstart(arguments) run_program(COLDSTART, arguments)
void run_program(const char *program, const char *arguments);

/* The message is one line on stderr, "coldstart: …", and nothing is on stdout. */
#define assert_refused(arguments, status, message) assert_program_refuses(COLDSTART, arguments, status, message)
void assert_program_refuses(const char *program, const char *arguments, int status, const char *message);

void write_text(const char *path, const char *text);
/* A parameter of 8 elements that every load writes whole: a reload equals a cold start under any policy.
 * `tags`: the list in Lua, "\"toy\"". */
void write_toy(const char *path, const char *name, const char *tags, const char *expectation);
/* A dense model, whose checkpoints may come from files. */
void write_model(const char *path);

/* A new current folder, removed with all that is in it. `original_folder`: where the test was started. */
extern char original_folder[4096];
int enter_new_folder(void);
int leave_folder(void);

#endif
