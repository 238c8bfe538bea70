#include "sim/conform/internal.h"
enum cs_status cs_golden_reload(struct cs_conform_run *run) { (void)run; return CS_OK; }
