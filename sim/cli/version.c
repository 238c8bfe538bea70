#include "sim/cli/cli.h"

#include <stdio.h>

int cs_verb_version(int argc, char **argv) {
    if (argc > 1) return cs_cli_fail(cs_fail(CS_BAD_USAGE, "version takes no argument, found \"%s\"", argv[1]));
    puts("coldstart " COLDSTART_VERSION);
    return CS_EXIT_PASSED;
}
