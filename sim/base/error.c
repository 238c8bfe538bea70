#include "sim/base/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGE_BYTES = 2048 };

/* Per thread, like errno: the one piece of state that outlives a call. */
static _Thread_local char message[MESSAGE_BYTES];

const char *cs_status_name(enum cs_status status) {
    static const char *const names[] = {
#define X(id, name) [CS_##id] = name,
        CS_STATUSES(X)
#undef X
    };
    return names[status];
}

enum cs_status cs_fail(enum cs_status status, const char *format, ...) {
    char fresh[MESSAGE_BYTES]; /* the arguments may point into `message` */
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(fresh, sizeof fresh, format, arguments);
    va_end(arguments);
    memcpy(message, fresh, sizeof fresh);
    return status;
}

const char *cs_error_text(void) { return message; }
