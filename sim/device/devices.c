#include "sim/device/device.h"

/* Each device's folder defines its table; folders below this one are not to be included here. */
extern const struct cs_device cs_device_ref, cs_device_gpu, cs_device_emu;

const struct cs_device *const cs_devices[] = {&cs_device_ref, &cs_device_gpu, &cs_device_emu};
const size_t cs_n_devices = CS_COUNT(cs_devices);

const struct cs_device *cs_device_by_name(const char *name) {
    for (size_t i = 0; i < cs_n_devices; i++)
        if (cs_text_equal(cs_devices[i]->name, name)) return cs_devices[i];
    return NULL;
}
