/* The peer of `bench fuzz`: another program that measures the same orderings. */
#ifndef CS_CLI_BENCH_PEER_H
#define CS_CLI_BENCH_PEER_H

#include <jansson.h>

#include "sim/base/base.h"

enum { CS_BENCH_PEER_SECONDS = 600 }; /* vLLM's own code needs about a minute */

/* Runs the shell command with `--json FILE` behind it as two more words, its output to stderr, and reads that file: rows
 * of "model" and "per_second", orderings a second. What the command started ends with it, after `seconds` at the latest, or
 * with us. The caller owns `rows`. CS_BAD_USAGE: it is empty, failed or took too long; CS_BAD_FILE: it wrote no such rows,
 * one of a rate that cannot be, or one twice; CS_INTERNAL: no process. */
enum cs_status cs_bench_peer_run(const char *command, int seconds, json_t **rows);
/* Orderings a second of the row of that name; 0: it has none. */
double cs_bench_peer_rate(const json_t *rows, const char *what);
/* CS_BAD_FILE, with what there is instead: no row has that name. */
enum cs_status cs_bench_peer_require(const char *command, const json_t *rows, const char *what);

#endif
