/* Small servers for tests: one rank without a session, and scenarios written in C. Uninitialised memory holds bytes that a
 * reader recognises: 0xC0 at a cold start, 0xAA in a reload. */
#ifndef TESTS_SUPPORT_SESSION_H
#define TESTS_SUPPORT_SESSION_H

#include "sim/driver/drivers.h"
#include "sim/session/session.h"

enum { COLD_GARBAGE = 0xC0, RELOAD_GARBAGE = 0xAA };

/* ---- one rank ---- */

struct bare {
    struct cs_arena arena;
    struct cs_log log;
    struct cs_fill_stats stats;
    struct cs_rank_spec spec;
    struct cs_rank rank;
};

/* A rank with `n` modules that exist but are empty, as before a driver's begin. Specs must outlive it. */
void bare_open(struct bare *bare, const char *policy, const struct cs_module_spec *specs, size_t n);
/* create_weights of every module. */
void bare_create(struct bare *bare);
void bare_close(struct bare *bare);
struct cs_param *bare_param(struct bare *bare, size_t module, const char *name);

/* "name", dtype, how created, shape… */
#define PARAM(name_, dtype_, init_, ...)                                                                               \
    {.name = name_, .kind = CS_PARAMETER, .dtype = dtype_, .init = init_, .weight_loader_numel = -1,                   \
     .ndim = (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), .shape = {__VA_ARGS__}}
#define BUFFER(name_, kind_, ...)                                                                                      \
    {.name = name_, .kind = kind_, .dtype = CS_U8, .init = CS_INIT_ZEROS, .weight_loader_numel = -1,                   \
     .ndim = (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), .shape = {__VA_ARGS__}}
#define MODULE(name_, tensors_, ...) {.name = name_, .layer = 0, .n_tensors = CS_COUNT(tensors_), .tensors = tensors_, __VA_ARGS__}

/* A checkpoint tensor: every element `value`, or the given bytes. */
struct cs_view source_of_value(struct bare *bare, enum cs_dtype dtype, int ndim, const int64_t *shape, double value);
struct cs_view source_of_bytes(struct bare *bare, enum cs_dtype dtype, int ndim, const int64_t *shape, const void *bytes);

/* One checkpoint tensor through a driver: `value` everywhere in the tensor `name`, by the default loader. */
enum cs_status send_value(struct bare *bare, const struct cs_driver *driver, size_t module, const char *name, double value);
/* The same into the first `length` elements of a vector; the rest is narrowed away. */
enum cs_status send_prefix(struct bare *bare, const struct cs_driver *driver, size_t module, const char *name, int64_t length, double value);

/* ---- scenarios ---- */

/* One layer of gpt-oss for flashinfer_trtllm: 2 experts, H 96 → 256, I 96 → 128, TP1; checkpoint A, and its perturbed copies B and
 * C. Ops and expectations are the test's. */
struct cs_scenario gpt_oss_scenario(void);
/* The tensors of the toy's only module. */
struct cs_scenario toy_scenario(const struct cs_template_tensor *tensors, size_t n_tensors, const struct cs_toy_load *loads, size_t n_loads);

void session_open(struct cs_session *session, const struct cs_scenario *scenario, const char *policy);
enum cs_status session_load(struct cs_session *session, const char *driver, const char *checkpoint);
/* session_load that must go well. */
void session_run(struct cs_session *session, const char *driver, const char *checkpoint);
struct cs_view session_view(struct cs_session *session, size_t rank, size_t module, const char *name);

/* ---- bytes (`ref` memory is the host's) ---- */

unsigned char *bytes_of(const struct cs_view *view);
double number_of(const struct cs_view *view, int64_t index);
void fill_bytes(const struct cs_view *view, unsigned char byte);
void assert_numbers(const struct cs_view *view, size_t n, const double *expected);
#define ASSERT_NUMBERS(view, ...)                                                                                      \
    assert_numbers(view, sizeof((double[]){__VA_ARGS__}) / sizeof(double), (const double[]){__VA_ARGS__})
void assert_ok(enum cs_status status);
/* `text` contains `part`. */
void assert_says(const char *text, const char *part);

#endif
