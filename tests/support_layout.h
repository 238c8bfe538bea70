/* What the layout tests share: composing or failing the test, and running a plan over plain bytes. */
#ifndef TESTS_SUPPORT_LAYOUT_H
#define TESTS_SUPPORT_LAYOUT_H

#include "sim/device/device.h"

/* Fails the running test when the chain does not compose. */
struct cs_plan support_compose(const struct cs_layout *const *chain, size_t n, int bits, int64_t rows, int64_t columns);

/* Bytes of `n_matrices` results, or sources, of a plan. */
size_t support_result_bytes(const struct cs_plan *plan, int64_t n_matrices);
size_t support_source_bytes(const struct cs_plan *plan, int64_t n_matrices);

void support_relayout(const struct cs_plan *plan, int64_t n_matrices, void *destination, void *source);

#endif
