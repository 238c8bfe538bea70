/* How a unit of short pieces is woven from words of shared memory.
 *
 * Loading piece by piece costs a load and three instructions for each byte or nibble, and permuting the bits of a word two
 * for each distance that bits move. A weave does the same for all four words of a unit at once:
 *
 *   chunk    16 bytes from the source, on their way into shared memory: what one unit needs of them moves together
 *   fields   wide loads from shared memory, into four registers
 *   shuffle  of their sixteen bytes: register k, byte j := the k-th source byte of word j
 *   rows     bits of register k move within their bytes, so that register q becomes byte q of each word
 *   words    from bytes, by a fixed transpose
 *
 * Where whole bytes move, the shuffle makes the words and the rest is left out. Where the lower nibbles of a word's bytes go
 * to its lower half and the upper ones to its upper half, rows are known when kernels are compiled. It needs words that are
 * permuted alike, without inverted bits, each from four whole bytes, and no padding.
 *
 * Words that take one nibble from each of eight bytes have eight fields, in pairs: a pair holds all bytes of two nibbles.
 *
 *   nibbles  two fields → register: the bytes that nibble k of the four words is a half of; which half, the unit says
 *   words    as above, from registers 2q and 2q + 1
 *
 * Other units are gathered piece by piece. */
#include "gpu/jobs.h"

#include <string.h>

enum { BYTES = 16, WORD_BYTES = 4, LANES = 4, WORD_BITS = 32, UNIT_BITS = 128, NIBBLES = 8, MOST_BYTES = NIBBLES };

/* Selectors that bring byte index[i] of four words to byte i: from the first two, from the last two, from both results. */
static void make_shuffle(struct cs_gpu_shuffle *shuffle, const int *index) {
    *shuffle = (struct cs_gpu_shuffle){0};
    for (int i = 0; i < BYTES; i++) {
        int word = index[i] / WORD_BYTES, byte = index[i] % WORD_BYTES, lane = i % WORD_BYTES;
        uint32_t *selector = shuffle->selector[i / WORD_BYTES];
        selector[word / 2] |= (uint32_t)(word % 2 * WORD_BYTES + byte) << (4 * lane);
        selector[2] |= (uint32_t)(word / 2 * WORD_BYTES + lane) << (4 * lane);
        shuffle->is_needed = shuffle->is_needed || index[i] != i;
    }
}

/* ---- chunks ---- */

static bool is_in_chunk(const struct cs_gpu_form *form, int64_t chunk) { return form->is_source_run && form->source < chunk; }

/* Digits that count pieces of one unit: the innermost ones. */
static int first_of_unit(const struct cs_gpu_forms *forms, int64_t n_pieces) {
    int d = forms->n;
    for (int64_t n = 1; n < n_pieces && d > 0;) n *= forms->digit[--d].extent;
    return d;
}

/* The next digit of a chunk in the order that steps have there: the nibbles of a byte, those of a unit, others; each kind by
 * its source. */
static int next_in_chunk(const struct cs_gpu_forms *forms, int64_t chunk, int first, const int64_t *local) {
    int best = -1;
    for (int d = 0; d < forms->n; d++) {
        if (!is_in_chunk(&forms->digit[d], chunk) || local[d]) continue;
        if (forms->bits < 8 && forms->digit[d].source == 1) return d;
        bool is_better = best < 0 || ((d >= first) != (best >= first) ? d >= first : forms->digit[d].source < forms->digit[best].source);
        if (is_better) best = d;
    }
    return best;
}

/* Where piece `index` of a chunk goes. */
static int64_t place_in_chunk(const struct cs_gpu_forms *forms, int64_t chunk, const int64_t *local, int64_t index) {
    int64_t place = 0;
    for (int d = 0; d < forms->n; d++) {
        const struct cs_gpu_form *form = &forms->digit[d];
        if (is_in_chunk(form, chunk)) place += index / form->source % form->extent * local[d];
    }
    return place;
}

/* What a digit of the source run counts in one chunk, or the nibbles of one byte; 0: it runs backwards. */
static int64_t inner_of(const struct cs_gpu_forms *forms, int64_t chunk, const struct cs_gpu_form *form) {
    if (form->source < 1) return 0;
    if (form->source == 1 && forms->bits < 8 && form->extent % 2 == 0) return 8 / forms->bits;
    return form->source >= chunk || form->source * form->extent <= chunk ? form->extent : chunk / form->source;
}

/* Splits digits that reach beyond a byte or a chunk. False when one does not divide. */
static bool split_at_chunks(struct cs_gpu_forms *forms, int64_t chunk) {
    for (int d = 0; d < forms->n; d++) {
        const struct cs_gpu_form *form = &forms->digit[d];
        int64_t inner = form->is_source_run ? inner_of(forms, chunk, form) : form->extent;
        if (inner == form->extent) continue;
        if (inner == 0 || form->extent % inner || forms->n >= CS_GPU_DIGITS) return false;
        cs_gpu_forms_split(forms, d--, inner);
    }
    return true;
}

bool cs_gpu_weave_chunk(struct cs_gpu_weave *weave, struct cs_gpu_forms *forms, int64_t n_pieces, int64_t *local) {
    int64_t chunk = UNIT_BITS / forms->bits, n = 1;
    struct cs_gpu_forms split = *forms;
    int64_t steps[CS_GPU_DIGITS + 4] = {0};
    int index[BYTES];
    if (!split_at_chunks(&split, chunk)) return false;
    int first = first_of_unit(&split, n_pieces);
    for (int d; (d = next_in_chunk(&split, chunk, first, steps)) >= 0; n *= split.digit[d].extent) {
        if (forms->bits < 8 && n == 1 && (split.digit[d].source != 1 || split.digit[d].extent != 2)) return false; /* bytes stay whole */
        steps[d] = n;
    }
    if (n != chunk) return false;
    for (int byte = 0; byte < BYTES; byte++) {
        int64_t piece = byte * 8 / forms->bits;
        index[place_in_chunk(&split, chunk, steps, piece) * forms->bits / 8] = byte;
    }
    make_shuffle(&weave->chunk, index);
    *forms = split;
    for (int d = 0; d < split.n; d++) local[d] = steps[d];
    return true;
}

/* ---- units ---- */

/* The source bytes of a unit's words, and where their bits go: the same in each word. */
struct bytes {
    int32_t at[LANES][MOST_BYTES]; /* of word j, from the unit's first byte */
    int n[LANES];
    int moved[MOST_BYTES * 8]; /* bit i of the word's source bytes, to this bit of the word; or -1 */
};

static int byte_of(struct bytes *bytes, int word, int32_t at) {
    int k = 0;
    while (k < bytes->n[word] && bytes->at[word][k] != at) k++;
    if (k == MOST_BYTES) return -1;
    bytes->at[word][k] = at;
    if (k == bytes->n[word]) bytes->n[word]++;
    return k;
}

static int moved_in_word(const struct cs_gpu_tile *tile, int bit) {
    for (int i = 0; tile->has_word && i < tile->word.n; i++) {
        int to = (bit + (int)tile->word.rotation[i]) % WORD_BITS;
        if (tile->word.mask[i] >> to & 1) return to;
    }
    return bit;
}

static bool find_bytes(struct bytes *bytes, const struct cs_gpu_tile *tile) {
    *bytes = (struct bytes){0};
    for (int i = 0; i < MOST_BYTES * 8; i++) bytes->moved[i] = -1;
    for (int i = 0; i < UNIT_BITS; i++) {
        int word = i / WORD_BITS;
        int64_t from = (int64_t)tile->piece[i / tile->piece_bits] * tile->piece_bits + i % tile->piece_bits;
        int64_t bit = (from % 8 + 8) % 8;
        int k = byte_of(bytes, word, (int32_t)((from - bit) / 8));
        if (k < 0) return false;
        int *moved = &bytes->moved[k * 8 + bit], to = moved_in_word(tile, i % WORD_BITS);
        if (word == 0) *moved = to;
        if (*moved != to) return false;
    }
    return true;
}

static bool moves_whole_bytes(const struct bytes *bytes) {
    for (int i = 0; i < WORD_BITS; i++)
        if (bytes->moved[i] != bytes->moved[i / 8 * 8] + i % 8 || bytes->moved[i / 8 * 8] % 8) return false;
    return true;
}

static bool parts_nibbles(const struct bytes *bytes) {
    for (int i = 0; i < WORD_BITS; i++)
        if (bytes->moved[i] != i / 8 * 4 + i % 4 + (i % 8 < 4 ? 0 : WORD_BITS / 2)) return false;
    return true;
}

/* What the shuffle shall make: word j itself, or the k-th bytes of all words. */
static void arrange(const struct bytes *bytes, bool is_whole, int32_t *wanted) {
    for (int j = 0; j < LANES; j++)
        for (int k = 0; k < WORD_BYTES; k++) wanted[is_whole ? j * WORD_BYTES + bytes->moved[k * 8] / 8 : k * LANES + j] = bytes->at[j][k];
}

/* Loads of `width` bytes that hold just what is wanted. */
static bool choose_fields(struct cs_gpu_weave *weave, const int32_t *wanted, int width, int *index) {
    int n = 0;
    for (int i = 0; i < BYTES; i++) {
        int32_t byte = (wanted[i] % width + width) % width, at = wanted[i] - byte;
        int f = 0;
        while (f < n && weave->field[f] != at) f++;
        if (f == BYTES / width) return false;
        if (f == n) weave->field[n++] = at;
        index[i] = f * width + byte;
    }
    weave->field_bits = width * 8;
    return n == BYTES / width;
}

/* The widest loads that all units' first bytes are aligned to. */
static bool find_fields(struct cs_gpu_tile *tile, const int32_t *wanted, int *index) {
    int64_t all = tile->local_start;
    for (int d = 0; d < tile->units.n; d++) all |= tile->units.from[d];
    for (int width = WORD_BYTES; width >= 1; width /= 2)
        if (all * tile->piece_bits % (width * 8) == 0 && choose_fields(&tile->weave, wanted, width, index)) return true;
    return false;
}

/* Bits of register k that go to byte q by the same distance share a step; a row has a step for each k. */
static bool add_bit(struct cs_gpu_weave *weave, int from, int to) {
    int q = to / 8, k = from / 8;
    uint32_t rotation = (uint32_t)(to % 8 - from % 8 + WORD_BITS) % WORD_BITS, mask = UINT32_C(0x01010101) << to % 8;
    int row = 0;
    while (row < weave->n_rows[q] && weave->row[q][row].mask[k] && weave->row[q][row].rotation[k] != rotation) row++;
    if (row == CS_GPU_WEAVE_ROWS) return false;
    if (row == weave->n_rows[q]) weave->n_rows[q]++;
    weave->row[q][row].mask[k] |= mask;
    weave->row[q][row].rotation[k] = rotation;
    return true;
}

/* From four whole bytes. */
static bool weave_bytes(struct cs_gpu_tile *tile, const struct bytes *bytes) {
    int32_t wanted[BYTES];
    int index[BYTES];
    bool is_whole = moves_whole_bytes(bytes);
    arrange(bytes, is_whole, wanted);
    if (!find_fields(tile, wanted, index) || (is_whole && tile->weave.field_bits == 8)) return false;
    make_shuffle(&tile->weave.shuffle, index);
    tile->weave.parts_nibbles = parts_nibbles(bytes);
    tile->weave.has_rows = !is_whole && !tile->weave.parts_nibbles;
    for (int i = 0; i < WORD_BITS && tile->weave.has_rows; i++)
        if (!add_bit(&tile->weave, i, bytes->moved[i])) return false;
    return true;
}

/* ---- units whose words take a nibble from each of eight bytes ---- */

/* Which of them nibble k of a word is the lower half of; -1 when bits move in other ways. */
static int byte_of_nibble(const struct bytes *bytes, int k) {
    for (int byte = 0; byte < NIBBLES; byte++) {
        bool is_it = true;
        for (int bit = 0; bit < 4; bit++) is_it = is_it && bytes->moved[byte * 8 + bit] == 4 * k + bit;
        if (is_it) return byte;
    }
    return -1;
}

/* The two fields that bytes of nibble k lie in, and their places there: adds fields behind the `n` that there are. */
static bool pair_fields(struct cs_gpu_weave *weave, const struct bytes *bytes, int k, int byte, int first) {
    int n = 0;
    weave->selector[k] = 0;
    for (int j = 0; j < LANES; j++) {
        int32_t in_field = (bytes->at[j][byte] % WORD_BYTES + WORD_BYTES) % WORD_BYTES, at = bytes->at[j][byte] - in_field;
        int f = 0;
        while (f < n && weave->field[first + f] != at) f++;
        if (f == 2) return false;
        weave->field[first + f] = at;
        if (f == n) n++;
        weave->selector[k] |= (uint32_t)(f * WORD_BYTES + in_field) << (4 * j);
    }
    return n == 2;
}

/* Units begin at whole fields, or one nibble later. */
static bool begin_at_fields(const struct cs_gpu_tile *tile) {
    bool do_begin = tile->local_start % NIBBLES == 0;
    for (int d = 0; d < tile->units.n; d++) {
        bool is_half = tile->units.from[d] == 1 && tile->units.extent[d].extent == 2;
        do_begin = do_begin && (is_half || tile->units.from[d] % NIBBLES == 0);
    }
    return do_begin;
}

/* Nibbles 0 and 2, 1 and 3, 4 and 6, 5 and 7 share the fields of a pair. */
static bool weave_nibbles(struct cs_gpu_tile *tile, const struct bytes *bytes) {
    struct cs_gpu_weave *weave = &tile->weave;
    if (tile->piece_bits != 4 || !begin_at_fields(tile)) return false;
    for (int k = 0; k < NIBBLES; k++) {
        int byte = byte_of_nibble(bytes, k), first = k / 4 * 4 + k % 2 * 2;
        const int32_t before[2] = {weave->field[first], weave->field[first + 1]};
        if (byte < 0 || !pair_fields(weave, bytes, k, byte, first)) return false;
        if (k & 2 && memcmp(before, &weave->field[first], sizeof before) != 0) return false;
    }
    weave->has_nibbles = true;
    return true;
}

bool cs_gpu_weave_plan(struct cs_gpu_tile *tile) {
    struct bytes bytes;
    if ((tile->has_word && tile->word.inverted) || !find_bytes(&bytes, tile)) return false;
    if (bytes.n[0] > WORD_BYTES) return weave_nibbles(tile, &bytes);
    if (!weave_bytes(tile, &bytes)) return false;
    tile->local_start = tile->local_start * tile->piece_bits / 8; /* from here on, bytes */
    for (int d = 0; d < tile->units.n; d++) tile->units.from[d] = tile->units.from[d] * tile->piece_bits / 8;
    return true;
}
