#include "sim/method/steps.h"

static const float never_loaded = -448.0f; /* parameters are created as e4m3's lowest number, or below */

static enum cs_status scales_of(struct cs_post_load *run, struct cs_view *view, float *last) {
    CS_TRY(cs_steps_value(run, "scales", view));
    struct cs_view element = *view;
    if (element.ndim == 1) CS_TRY(cs_view_select(&element, 0, element.shape[0] - 1));
    CS_REQUIRE(element.ndim == 0 && element.dtype == CS_F32, CS_BAD_SHAPE,
               "the scales of a linear layer are one f32, or one for each shard");
    return cs_device_read(run->module->rank->device, &element, last, sizeof *last);
}

/* Rows [start, start + width) by the scale of shard `i`. */
static enum cs_status merge_shard(struct cs_post_load *run, const struct cs_view *whole, const struct cs_view *scales,
                                  size_t i, int64_t start, int64_t width) {
    const struct cs_step_table *table = cs_step_table_by_name("merge_shard");
    struct cs_view rows = *whole, old = *scales;
    CS_TRY(cs_view_narrow(&rows, 0, start, width));
    CS_TRY(cs_view_select(&old, 0, (int64_t)i));
    CS_TRY(cs_steps_set(run, "w", &rows, NULL));
    CS_TRY(cs_steps_set(run, "old", &old, NULL));
    return cs_steps_run(run, table->steps, table->n_steps);
}

static enum cs_status merge_shards(struct cs_post_load *run, const struct cs_view *scales, const int64_t *widths,
                                   size_t n) {
    struct cs_view whole;
    CS_TRY(cs_steps_value(run, "w", &whole));
    CS_REQUIRE((int64_t)n <= scales->shape[0], CS_BAD_SHAPE, "%zu shards have %" PRId64 " scales", n, scales->shape[0]);
    int64_t start = 0;
    for (size_t i = 0; i < n; start += widths[i++])
        if (widths[i] > 0) CS_TRY(merge_shard(run, &whole, scales, i, start, widths[i]));
    return cs_steps_set(run, "w", &whole, NULL);
}

enum cs_status cs_merge_linear(struct cs_post_load *run, const int64_t *widths, size_t n) {
    static const struct cs_step largest[] = {CS_DO_MAXIMUM("scale", CS_F32, "", "scales")};
    struct cs_view scales;
    float last;
    CS_TRY(scales_of(run, &scales, &last));
    CS_TRY(cs_steps_run(run, largest, CS_COUNT(largest)));
    return scales.ndim == 1 && last > never_loaded ? merge_shards(run, &scales, widths, n) : CS_OK;
}
