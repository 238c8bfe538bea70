/* The reference device: plain loops over host memory, obviously right. `gpu/` computes the same on its own.
 *
 * Every operation walks its views as runs along the innermost dimension (walk.h) and hands pieces of more than a
 * cache's worth to OpenMP threads; no result depends on how many there are. The cs_device_* functions have checked the
 * arguments. A HOST source is memory like any other here, except that it need not be aligned. */
#ifndef CS_REF_H
#define CS_REF_H

#include "sim/device/device.h"

extern const struct cs_device cs_device_ref;

/* Aligned to 64 bytes; large blocks to 2 MiB, on huge pages where the system has them. NULL for zero bytes. */
enum cs_status cs_ref_allocate(const struct cs_device *device, size_t bytes, void **data);
void cs_ref_release(const struct cs_device *device, void *data, size_t bytes);
enum cs_status cs_ref_upload(const struct cs_device *device, void *data, const void *host, size_t bytes);
enum cs_status cs_ref_download(const struct cs_device *device, void *host, const void *data, size_t bytes);

enum cs_status cs_ref_generate(const struct cs_device *device, const struct cs_view *destination,
                               const struct cs_view *source);
enum cs_status cs_ref_copy(const struct cs_device *device, const struct cs_view *destination,
                           const struct cs_view *source);
enum cs_status cs_ref_convert(const struct cs_device *device, const struct cs_view *destination,
                              const struct cs_view *source);
enum cs_status cs_ref_fill(const struct cs_device *device, const struct cs_fill *fills, size_t n);
enum cs_status cs_ref_relayout(const struct cs_device *device, const struct cs_plan *plan, int64_t n_matrices,
                               const struct cs_view *destination, const struct cs_view *source);
enum cs_status cs_ref_compare(const struct cs_device *device, const struct cs_view *a, const struct cs_view *b,
                              struct cs_difference *difference);
enum cs_status cs_ref_digest(const struct cs_device *device, const struct cs_view *view, uint64_t *digest);
enum cs_status cs_ref_capture(const struct cs_device *device, const struct cs_view *views, size_t n, void **graph);
enum cs_status cs_ref_replay(const struct cs_device *device, void *graph, uint64_t *digests);
void cs_ref_forget(const struct cs_device *device, void *graph);
enum cs_status cs_ref_map(const struct cs_device *device, const struct cs_program *program,
                          const struct cs_view *destination);
enum cs_status cs_ref_maximum(const struct cs_device *device, const struct cs_program *program,
                              const struct cs_operand *destination);

/* One element by value, as `convert` does it. */
uint64_t cs_ref_convert_bits(enum cs_dtype to, enum cs_dtype from, uint64_t bits);

#endif
