/* What the files of this folder share; nobody else includes it.
 *
 * A Lua error is a longjmp: between a call of Lua and the next, nothing may be owned that only C can free. So
 * everything that a script makes lives in the caller's arena, and `cs_script_new` turns a failed allocation into a Lua
 * error.
 *
 * Limits. A script has a budget of bytes (Lua's and the arena's together) and one of work (VM instructions, and what
 * library functions do in C, charged at about their price). Over either, it is stopped: the hook then fires at each
 * instruction and raises the same error again, so that no pcall survives it, and the first text is kept beside Lua. The
 * byte limit is soft up to twice its size: the instruction that exceeds it still gets its memory, so that the message
 * can name its line. */
#ifndef CS_SCRIPT_INTERNAL_H
#define CS_SCRIPT_INTERNAL_H

#include <lauxlib.h>
#include <lua.h>

#include "sim/script/script.h"

/* A file that was run, for `require` and for messages. */
struct cs_script_file {
    struct cs_script_file *next;
    const char *name, *path; /* name: as required; NULL for the scenario */
    bool is_loaded;          /* false while it runs */
};

struct cs_script {
    const char *path; /* of the scenario */
    const char *text; /* instead of the file, or NULL */
    struct cs_arena *arena;
    lua_State *L; /* the only thread: there are no coroutines */
    size_t bytes;
    int64_t work;
    bool is_hurried; /* the hook fires at the next instruction */
    bool is_stopped;
    bool is_out_of_memory; /* the machine, not the budget */
    enum cs_status stop_status;
    char stop[1024];       /* why it was stopped */
    const char *thrown_at; /* "file:line: " where the script last raised an error that is no text */
    size_t n_settings, n_declared;
    const struct cs_setting *settings;
    const struct cs_declared *declared; /* NULL: nothing is declared */
    struct cs_script_file *files;
    size_t n_results;
    const struct cs_scenario **results; /* what the file returned */
    size_t n_models;                    /* cs_script_models */
    struct cs_listed_model *models;
};

/* Runs `function` in a new Lua state for the file; what it makes lives in `arena`. */
enum cs_status cs_script_run(struct cs_script *script, const char *path, struct cs_arena *arena,
                             lua_CFunction function);

/* As cs_script_load_all, without cs_scenario_check. */
enum cs_status cs_script_parse_all(const char *path, const struct cs_setting *settings, size_t n_settings,
                                   struct cs_arena *arena, struct cs_script_list *list);
/* The first of them. */
enum cs_status cs_script_parse(const char *path, const struct cs_setting *settings, size_t n_settings,
                               struct cs_arena *arena, struct cs_scenario *scenario);

struct cs_script *cs_script_of(lua_State *L);
/* Takes `work` from the budget. */
void cs_script_charge(lua_State *L, double work);
/* Ends the script with that error; no pcall survives it. */
_Noreturn void cs_script_stop(lua_State *L, enum cs_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Zeroed memory of the arena. */
void *cs_script_new(lua_State *L, size_t count, size_t size);
#define CS_SCRIPT_NEW(L, type, count) ((type *)cs_script_new((L), (count), sizeof(type)))
char *cs_script_copy(lua_State *L, const char *text);
/* Line of the innermost Lua function. */
int cs_script_line(lua_State *L);
/* Pushes "file:line: " of the innermost Lua function, or of its `n_skipped`-th caller. */
void cs_script_push_place(lua_State *L, int n_skipped);
/* Loads a file of Lua text as a function on the stack, or raises an error. */
void cs_script_push_file(lua_State *L, const char *name, const char *path);
/* Folder of a path, "." when it names none; in the arena. */
char *cs_script_folder(lua_State *L, const char *path);

/* Opens the allowed libraries, and `require`. */
void cs_sandbox_open(lua_State *L);

/* ---- the language ---- */

struct cs_record;
struct cs_value;

/* One function of the language. The reference page and the stubs for editors are made of these rows: language.c. */
struct cs_binding {
    const char *name;
    lua_CFunction function;
    const struct cs_record *record; /* fields of its table argument, or NULL */
    struct {
        const char *name, *type; /* "version?" may be missing, "..." comes any number of times */
    } params[5];                 /* none, with a record: its table alone */
    const char *returns, *text;  /* returns: a type, or NULL; text: a line of Markdown */
};
extern const struct cs_binding cs_bindings[]; /* sorted by name within "cs." and "s:" */
extern const size_t cs_n_bindings;

/* Makes the global `cs`. */
void cs_bindings_open(lua_State *L);

/* Objects of the language: userdata that point to immutable descriptions in the arena. */
#define CS_OBJECT_BACKEND    "a back end (cs.backend)"
#define CS_OBJECT_CHECKPOINT "a checkpoint (cs.synthetic, cs.perturbed, …)"
#define CS_OBJECT_EXPECTED   "an expectation (cs.equal, cs.refused)"
#define CS_OBJECT_LAYOUT     "a layout (cs.layout)"
#define CS_OBJECT_LOADER     "a loader (cs.loader)"
#define CS_OBJECT_METHOD     "a method (cs.method)"
#define CS_OBJECT_MODEL      "a model (cs.model, cs.toy)"
#define CS_OBJECT_MODULE     "a module (cs.module)"
#define CS_OBJECT_PLAN       "the server of `run`"
#define CS_OBJECT_SCENARIO   "a scenario (cs.scenario)"
#define CS_OBJECT_STEP       "a post-load step (cs.relayout, cs.cast, …)"

#define CS_DECLARED_VALUES "values of declared options" /* a table of them, not an object */

/* Pushes a new object. */
void cs_object_push(lua_State *L, const char *kind, const void *description);
/* The description, or NULL when the value is no object of that kind. */
const void *cs_object_test(lua_State *L, int index, const char *kind);
/* Kind of an object, or NULL. */
const char *cs_object_kind(lua_State *L, int index);
/* What editors call that kind of object. */
const char *cs_object_class(const char *kind);

/* A plan that is being recorded. */
struct cs_plan_draft {
    struct cs_scenario *scenario;
    struct cs_op *ops;
    size_t capacity;
    bool is_closed; /* `run` has returned */
};

/* Calls the function at stack index `run` with s, and keeps what it does as the scenario's operations. */
void cs_plan_record(lua_State *L, int run, struct cs_scenario *scenario);
/* The draft behind `s`, the first of a function's two arguments. */
struct cs_plan_draft *cs_plan_draft_of(lua_State *L, const char *function);
void cs_plan_append(lua_State *L, struct cs_plan_draft *draft, const struct cs_op *op);
/* Adds the checkpoints that the plan names without declaring, and gives perturbed copies their versions. `value` is the
 * scenario's table, for errors. */
void cs_checkpoints_complete(const struct cs_value *value, struct cs_scenario *scenario);

int cs_script_scenario(lua_State *L);
int cs_script_options(lua_State *L);
int cs_script_declare(lua_State *L);
int cs_script_model(lua_State *L);
int cs_script_module(lua_State *L);
int cs_script_toy(lua_State *L);
int cs_script_layout(lua_State *L);
int cs_script_loader(lua_State *L);
int cs_script_method(lua_State *L);
int cs_script_backend(lua_State *L);
int cs_script_call(lua_State *L);
int cs_script_cast(lua_State *L);
int cs_script_config(lua_State *L);
int cs_script_constant(lua_State *L);
int cs_script_derived(lua_State *L);
int cs_script_closure(lua_State *L);
int cs_script_cache(lua_State *L);
int cs_script_map(lua_State *L);
int cs_script_maximum(lua_State *L);
int cs_script_empty(lua_State *L);
int cs_script_pad(lua_State *L);
int cs_script_relayout(lua_State *L);
int cs_script_replace(lua_State *L);
int cs_script_reshape(lua_State *L);
int cs_script_select(lua_State *L);
int cs_script_take(lua_State *L);
int cs_script_transpose(lua_State *L);
int cs_script_update(lua_State *L);
int cs_script_view(lua_State *L);
int cs_script_synthetic(lua_State *L);
int cs_script_without_optional(lua_State *L);
int cs_script_patched(lua_State *L);
int cs_script_pattern(lua_State *L);
int cs_script_perturbed(lua_State *L);
int cs_script_folder_checkpoint(lua_State *L);
int cs_script_equal(lua_State *L);
int cs_script_refused(lua_State *L);
int cs_script_undetermined(lua_State *L);
int cs_script_cold_start(lua_State *L);
int cs_script_reload(lua_State *L);
int cs_script_sleep(lua_State *L);
int cs_script_wake(lua_State *L);
int cs_script_capture(lua_State *L);
int cs_script_expect(lua_State *L);

/* The name of a loader, a scenario's own or a registered one; `own`: NULL for the latter. */
const char *cs_value_loader(const struct cs_value *value, const struct cs_loader **own);
/* Makes it one that the scenario's names are looked up in first; once is enough. */
void cs_scenario_own_loader(lua_State *L, struct cs_scenario *scenario, const struct cs_loader *loader);

extern const struct cs_record cs_record_layout, cs_record_loader, cs_record_method, cs_record_backend;
extern const struct cs_record cs_record_scenario, cs_record_model, cs_record_module, cs_record_toy,
    cs_record_cold_start, cs_record_reload, cs_record_expected, cs_record_option;

#endif
