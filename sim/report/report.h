/* Reports: text for people, JSON for machines (schema: report.schema.json, version 1). */
#ifndef CS_REPORT_H
#define CS_REPORT_H

#include <stdio.h>

#include "sim/audit/audit.h"

struct cs_report_totals {
    int64_t passed, failed, skipped; /* MISTRUSTED counts as failed, REFUSED as passed (R8.5) */
    int64_t refused, mistrusted;
    const char *device_left_out; /* by itself, as it is missing, and why: "gpu: not built: …"; NULL: none was */
};

void cs_report_count(struct cs_report_totals *totals, const struct cs_verdict *verdict);

/* One verdict in words; colour only when asked for. */
void cs_report_text(FILE *out, const struct cs_verdict *verdict, bool colour);
/* The line that splits off refused and mistrusted, and the last line, "N passed, N failed, N skipped". */
void cs_report_text_totals(FILE *out, const struct cs_report_totals *totals);

/* What differs between two verdicts of one run that was repeated, in words: status, counts, digest, text; never
 * seconds. NULL: nothing. */
const char *cs_report_difference(const struct cs_verdict *a, const struct cs_verdict *b, struct cs_arena *arena);

/* Whole JSON report to a file, or to stdout when path is "-". Written to a temporary name and renamed. */
enum cs_status cs_report_json(const char *path, const struct cs_verdict *verdicts, size_t n,
                              const struct cs_report_totals *totals);

#endif
