#include "ref/ref.h"

static const char *always_available(void) { return ""; }

const struct cs_device cs_device_ref = {
    .name = "ref",
    .unavailable = always_available,
    .allocate = cs_ref_allocate,
    .release = cs_ref_release,
    .upload = cs_ref_upload,
    .download = cs_ref_download,
    .generate = cs_ref_generate,
    .copy = cs_ref_copy,
    .convert = cs_ref_convert,
    .fill = cs_ref_fill,
    .relayout = cs_ref_relayout,
    .compare = cs_ref_compare,
    .digest = cs_ref_digest,
    .capture = cs_ref_capture,
    .replay = cs_ref_replay,
    .forget = cs_ref_forget,
    .map = cs_ref_map,
    .maximum = cs_ref_maximum,
};
