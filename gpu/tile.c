/* Which digits of a plan make a tile.
 *
 * Read in the order of the destination, short pieces of the source waste what the memory fetches around them. A tile is a
 * set of digits, some of them split, that counts long runs on both sides: the innermost ones of the destination, and those
 * that follow each other in the source; more of them, if these are few. A block loads the source runs ("rows") of its tile into shared memory, 16 bytes at
 * a time where all rows begin at such addresses, and assembles destination units from there.
 *
 * Rows may reach beyond what guards admit, into the next row or past the end; the latter is not loaded. What guards
 * exclude is zeroed when units are assembled. */
#include "gpu/jobs.h"

enum {
    MOST_SHARED = 40 << 10, /* after rows were kept apart */
    TILE_BYTES = 16 << 10, /* several blocks share a multiprocessor, and each thread has a few loads in flight */
    ENOUGH_TILES = 1024,   /* to keep all multiprocessors busy */
    LONGEST_RUN = 512,
    SHORTEST_GAIN = 2 /* a source run must be this many times a piece */
};

static int64_t magnitude(int64_t x) { return x < 0 ? -x : x; }

static bool has_room(const struct cs_gpu_forms *forms) { return forms->n + 1 < CS_GPU_DIGITS; }

/* How much of an extent fits into `room`: all of it, or its largest divisor. */
static int64_t part_of(const struct cs_gpu_forms *forms, int64_t extent, int64_t room) {
    if (extent <= room) return extent;
    return has_room(forms) ? cs_gpu_largest_divisor(extent, room) : 1;
}

/* Innermost digits of the destination, up to `limit` pieces. */
static void take_destination_run(struct cs_gpu_forms *forms, int64_t limit) {
    int64_t run = 1;
    for (int d = forms->n - 1; d >= 0; d--) {
        int64_t extent = forms->digit[d].extent, part = part_of(forms, extent, limit / run);
        if (part == 1 && extent > 1) return;
        if (part < extent) cs_gpu_forms_split(forms, d++, part);
        forms->digit[d].is_destination_run = true;
        run *= part;
        if (part < extent) return;
    }
}

static int digit_of_stride(const struct cs_gpu_forms *forms, int64_t stride) {
    for (int d = 0; d < forms->n; d++)
        if (magnitude(forms->digit[d].source) == stride && !forms->digit[d].is_source_run) return d;
    return -1;
}

/* Digits that follow each other in the source, up to `limit` pieces; returns the length of their run. */
static int64_t take_source_run(struct cs_gpu_forms *forms, int64_t limit) {
    int64_t run = 1;
    while (true) {
        int d = digit_of_stride(forms, run);
        if (d < 0) return run;
        int64_t extent = forms->digit[d].extent, part = part_of(forms, extent, limit / run);
        bool is_taken = forms->digit[d].is_destination_run;
        if (!is_taken && part == 1 && extent > 1) return run;
        if (is_taken)
            part = extent;
        else if (part < extent)
            cs_gpu_forms_split(forms, d++, part);
        forms->digit[d].is_source_run = true;
        run *= part;
        if (part < extent || run >= limit) return run;
    }
}

static int64_t tile_pieces(const struct cs_gpu_forms *forms) {
    int64_t n = 1;
    for (int d = 0; d < forms->n; d++)
        if (forms->digit[d].is_destination_run || forms->digit[d].is_source_run) n *= forms->digit[d].extent;
    return n;
}

/* Short runs make small tiles, in which most of a block has nothing to do: takes more rows, nearest destinations first. A small tensor
 * keeps its tiles small enough to be many. */
static void grow(struct cs_gpu_forms *forms) {
    int64_t most = TILE_BYTES * 8 / forms->bits, share = forms->source_size / ENOUGH_TILES;
    if (share < most) most = share;
    for (int d = forms->n - 1; d >= 0; d--) {
        if (forms->digit[d].is_destination_run || forms->digit[d].is_source_run) continue;
        int64_t extent = forms->digit[d].extent, room = most / tile_pieces(forms), part = room > 1 ? part_of(forms, extent, room) : 1;
        if (part == 1) continue;
        if (part < extent) cs_gpu_forms_split(forms, d++, part);
        forms->digit[d].is_destination_run = true;
    }
}

/* The largest tile that fits, of runs as long on one side as on the other; returns the length of a source run. */
static int64_t choose(struct cs_gpu_forms *forms, const struct cs_gpu_forms *whole) {
    int64_t bits = whole->bits;
    for (int64_t bytes = LONGEST_RUN; bytes * 8 >= bits; bytes /= 2) {
        *forms = *whole;
        take_destination_run(forms, bytes * 8 / bits);
        int64_t run = take_source_run(forms, bytes * 8 / bits);
        if (tile_pieces(forms) * bits > TILE_BYTES * 8) continue;
        grow(forms);
        return run;
    }
    return 0;
}

/* ---- choice → job ---- */

/* 128, 32 or 8 bits: what divides all that moves a row's beginning, and its length. */
static int widest_load(const struct cs_gpu_forms *forms, int64_t run, int64_t first_row, uintptr_t from) {
    int load = 128;
    for (; load > 8; load /= 4) {
        bool fits = run * forms->bits % load == 0 && first_row * forms->bits % load == 0 && forms->source_size * forms->bits % load == 0 &&
                    from % (uintptr_t)(load / 8) == 0;
        for (int d = 0; d < forms->n; d++)
            if (!forms->digit[d].is_source_run) fits = fits && forms->digit[d].source * forms->bits % load == 0;
        if (fits) break;
    }
    return load;
}

/* 4-bit pieces: rows must begin and end at whole bytes. */
static bool has_whole_bytes(const struct cs_gpu_forms *forms, int64_t run, int64_t first_row) {
    if (forms->bits >= 8) return true;
    bool has = run % 2 == 0 && first_row % 2 == 0 && forms->source_size % 2 == 0;
    for (int d = 0; d < forms->n; d++)
        if (!forms->digit[d].is_source_run) has = has && forms->digit[d].source % 2 == 0;
    return has;
}

static int64_t to_bytes(const struct cs_gpu_forms *forms, int64_t pieces) { return pieces * forms->bits / 8; }

/* Keeps rows of shared memory apart by an odd number of words, so that a column's words lie in different banks. */
static uint32_t pitch_of(int64_t run_bytes, int piece_bits) {
    int64_t size = piece_bits > 32 ? piece_bits / 8 : 4, words = (run_bytes + size - 1) / size;
    return (uint32_t)((words % 2 ? words : words + 1) * size);
}

static void append(struct cs_gpu_steps *steps, const struct cs_gpu_form *form, int64_t from, int64_t to) {
    int n = steps->n++;
    steps->extent[n] = cs_gpu_divide_by(form->extent);
    steps->from[n] = from;
    steps->to[n] = to;
}

/* False when all of these steps together may lead further than 32 bits. */
static bool shorten(struct cs_gpu_short_steps *steps, const struct cs_gpu_steps *whole) {
    int64_t from = 0, to = 0;
    steps->n = whole->n;
    for (int d = 0; d < whole->n; d++) {
        int64_t most = (int64_t)whole->extent[d].extent - 1;
        from += most * magnitude(whole->from[d]);
        to += most * magnitude(whole->to[d]);
        if (from > INT32_MAX || to > INT32_MAX) return false;
        steps->extent[d] = whole->extent[d];
        steps->from[d] = (int32_t)whole->from[d];
        steps->to[d] = (int32_t)whole->to[d];
    }
    return true;
}

/* Distributes digits: those of no run count tiles, those of the destination run alone count rows, all of the tile count
 * positions in shared memory. `local` becomes what a digit adds to such a position, in pieces. Returns the number of rows,
 * or 0: they lie too far apart. */
static int64_t distribute(struct cs_gpu_tile *tile, const struct cs_gpu_forms *forms, int64_t *local) {
    struct cs_gpu_steps rows = {0};
    int64_t n_rows = 1, per_row = (int64_t)tile->row_pitch * 8 / forms->bits;
    for (int d = forms->n - 1; d >= 0; d--) {
        const struct cs_gpu_form *form = &forms->digit[d];
        int64_t from = to_bytes(forms, form->source);
        if (form->is_source_run) {
            if (!local[d]) local[d] = form->source; /* else its chunk is permuted */
        } else if (form->is_destination_run) {
            local[d] = n_rows * per_row;
            n_rows *= form->extent;
            append(&rows, form, from, 0);
        } else {
            for (int g = 0; g < forms->n_guards; g++) tile->outer_guard[g][tile->outer.n] = form->guard[g];
            append(&tile->outer, form, from, to_bytes(forms, form->destination));
        }
    }
    return shorten(&tile->rows, &rows) ? n_rows : 0;
}

/* Units count the tile's digits; the pieces of a unit are its innermost ones. False when those are no whole unit. */
static bool count_units(struct cs_gpu_tile *tile, const struct cs_gpu_forms *forms, const int64_t *local) {
    struct cs_gpu_steps units = {0};
    int64_t covered = 1, n_pieces = tile->guards.n_pieces;
    int d = forms->n - 1;
    for (; covered < n_pieces; d--) { /* digits were split at units before they became a tile */
        if (d < 0 || !forms->digit[d].is_destination_run) return false;
        int64_t extent = forms->digit[d].extent;
        if (covered * extent > n_pieces) return false;
        for (int i = 0; i < n_pieces; i++) tile->piece[i] += (int32_t)(i / covered % extent * local[d]);
        covered *= extent;
    }
    for (; d >= 0; d--) {
        const struct cs_gpu_form *form = &forms->digit[d];
        if (!form->is_destination_run && !form->is_source_run) continue;
        for (int g = 0; g < forms->n_guards; g++) tile->units_guard[g][units.n] = form->guard[g];
        append(&units, form, local[d], to_bytes(forms, form->destination));
    }
    tile->n_units = (uint32_t)(tile_pieces(forms) / n_pieces);
    return covered == n_pieces && shorten(&tile->units, &units);
}

/* What does not depend on the choice of digits. */
static void begin(struct cs_gpu_tile *tile, const struct cs_gpu_relayout *direct) {
    *tile = (struct cs_gpu_tile){.to = direct->to, .from = direct->from, .unit_bits = direct->unit_bits, .piece_bits = direct->piece_bits,
                                 .guards = direct->guards, .has_word = direct->has_word, .word = direct->word};
}

/* Splits the innermost digits where units end, as relayout.c found possible; taking runs respects that by divisors only. */
static void split_at_units(struct cs_gpu_forms *forms, int64_t n_pieces) {
    for (int d = forms->n - 1; n_pieces > 1 && d >= 0; d--) {
        int64_t extent = forms->digit[d].extent;
        if (extent > n_pieces) {
            cs_gpu_forms_split(forms, d, n_pieces);
            return;
        }
        n_pieces /= extent;
    }
}

/* The choice of digits as a job. */
static bool make_job(struct cs_gpu_tile *tile, const struct cs_gpu_relayout *direct, const struct cs_gpu_forms *chosen, int64_t run, bool may_weave) {
    struct cs_gpu_forms forms = *chosen;
    int64_t local[CS_GPU_DIGITS + 4] = {0}, first_row = forms.start, below = 0;
    for (int d = 0; d < forms.n; d++) /* digits that run backwards: a row begins at their last value */
        if (forms.digit[d].is_source_run && forms.digit[d].source < 0) below -= forms.digit[d].source * (forms.digit[d].extent - 1);
    first_row -= below;
    if (!has_whole_bytes(&forms, run, first_row)) return false;

    begin(tile, direct);
    tile->local_start = (int32_t)below;
    tile->load_bits = widest_load(&forms, run, first_row, (uintptr_t)direct->from);
    tile->row_pitch = pitch_of(to_bytes(&forms, run), forms.bits);
    if (may_weave && tile->load_bits == 128) cs_gpu_weave_chunk(&tile->weave, &forms, direct->guards.n_pieces, local);
    int64_t n_rows = distribute(tile, &forms, local), row_loads = to_bytes(&forms, run) / (tile->load_bits / 8);
    if (n_rows == 0 || n_rows * tile->row_pitch > MOST_SHARED || !count_units(tile, &forms, local)) return false;
    if (may_weave && !cs_gpu_weave_plan(tile)) return false;
    tile->tile_bytes = (uint32_t)n_rows * tile->row_pitch;
    tile->n_loads = (uint32_t)(n_rows * row_loads);
    tile->row_loads = cs_gpu_divide_by(row_loads);
    tile->start_bytes = to_bytes(&forms, first_row);
    tile->from_bytes = to_bytes(&forms, forms.source_size);
    tile->n_tiles = direct->n_units / tile->n_units;
    return tile->n_tiles < INT32_MAX;
}

bool cs_gpu_tile_plan(struct cs_gpu_tile *tile, const struct cs_gpu_relayout *direct, const struct cs_gpu_forms *given) {
    struct cs_gpu_forms whole = *given, forms;
    if (direct->unit_bits < 8 || given->bits >= 128 || given->n + 3 > CS_GPU_DIGITS) return false;
    split_at_units(&whole, direct->guards.n_pieces);
    int64_t run = choose(&forms, &whole);
    if (run < SHORTEST_GAIN) return false;
    bool may_weave = direct->unit_bits == 128 && direct->piece_bits <= 8 && direct->guards.n == 0;
    return (may_weave && make_job(tile, direct, &forms, run, true)) || make_job(tile, direct, &forms, run, false);
}
