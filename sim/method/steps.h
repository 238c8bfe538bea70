/* The steps of post-load, one function each; nobody outside of this folder includes it. */
#ifndef CS_METHOD_STEPS_H
#define CS_METHOD_STEPS_H

#include "sim/method/methods.h"

typedef enum cs_status cs_step_function(struct cs_post_load *run, const struct cs_step *step);

/* post_load.c: the value of a name, a parameter's own bytes when no step made one. */
enum cs_status cs_steps_find(struct cs_post_load *run, const char *name, struct cs_working **value);
/* `value` may be NULL. */
enum cs_status cs_steps_set(struct cs_post_load *run, const char *name, const struct cs_view *view,
                            struct cs_working **value);

/* step_derive.c: what the module keeps at the step's path, or NULL; and holding a new tensor at all its paths. */
struct cs_side *cs_steps_kept(const struct cs_post_load *run, const struct cs_step *step);
enum cs_status cs_steps_hold(struct cs_post_load *run, const struct cs_step *step, struct cs_param *param);
cs_step_function cs_step_derive;

/* keep_sides.c: `before` is what the module held until this post-load. */
enum cs_status cs_sides_keep(struct cs_module *module, const struct cs_side *before, size_t n_before);

/* step_relayout.c */
cs_step_function cs_step_relayout;
/* step_bytes.c */
cs_step_function cs_step_cast, cs_step_view, cs_step_reshape, cs_step_select, cs_step_transpose, cs_step_take,
    cs_step_pad, cs_step_zero;
/* step_program.c */
cs_step_function cs_step_map, cs_step_update, cs_step_maximum, cs_step_all_reduce;
/* step_keep.c */
cs_step_function cs_step_replace, cs_step_register, cs_step_rename, cs_step_retire, cs_step_empty, cs_step_wrap,
    cs_step_config, cs_step_hold, cs_step_constant, cs_step_extent;
/* step_shape.c: the extents that a shape text means. */
enum cs_status cs_steps_shape(struct cs_post_load *run, const char *text, int *ndim, int64_t *shape);

#endif
