/* The peer of `bench fuzz`: another program that measures the same orderings. */
#ifndef CS_CLI_BENCH_PEER_H
#define CS_CLI_BENCH_PEER_H

#include <jansson.h>

#include "sim/base/base.h"

/* Runs the shell command with `--json FILE` behind it, its output to stderr, and reads that file: rows of "model" and
 * "per_second". The caller owns `rows`. CS_BAD_USAGE: it failed; CS_BAD_FILE: it wrote no such rows. */
enum cs_status cs_bench_peer_run(const char *command, json_t **rows);
/* Orderings a second of the row of that name; 0: it has none. */
double cs_bench_peer_rate(const json_t *rows, const char *what);

#endif
