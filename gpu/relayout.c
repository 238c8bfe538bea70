/* A plan → a job.
 *
 *   piece  what lies together in the source: an element at first, then twice as much for as long as neither a digit nor a
 *          guard parts the two halves; up to 16 bytes
 *   unit   what a thread writes: as many pieces as make 16 bytes, when whole digits do
 *
 * The digits that count units, divided out one by one, lead to a unit's first piece in the source; those that count its
 * pieces become a table. Short pieces from long source runs go through tiles in shared memory (tile.c). */
#include "gpu/jobs.h"

#include <stdlib.h>

/* ---- plan → forms ---- */

static struct cs_gpu_forms forms_of(const struct cs_plan *plan, int64_t n_matrices) {
    struct cs_gpu_forms forms = {.bits = plan->bits, .n_guards = plan->n_guards, .start = plan->source_start};
    int64_t matrix = plan->source_rows * plan->source_columns;
    forms.source_size = n_matrices * matrix;
    for (int g = 0; g < plan->n_guards; g++) forms.left[g] = plan->guard[g].limit - plan->guard[g].constant;
    if (n_matrices > 1) forms.digit[forms.n++] = (struct cs_gpu_form){.extent = n_matrices, .source = matrix};
    for (int d = 0; d < plan->n_digits; d++) {
        struct cs_gpu_form *form = &forms.digit[forms.n++];
        *form = (struct cs_gpu_form){.extent = plan->digit[d].extent, .source = plan->digit[d].source};
        for (int g = 0; g < plan->n_guards; g++) form->guard[g] = plan->guard[g].coefficient[d];
    }
    return forms;
}

static void number_destinations(struct cs_gpu_forms *forms) {
    int64_t destination = 1;
    for (int d = forms->n - 1; d >= 0; d--) {
        forms->digit[d].destination = destination;
        destination *= forms->digit[d].extent;
    }
}

void cs_gpu_forms_split(struct cs_gpu_forms *forms, int d, int64_t extent) {
    for (int i = forms->n++; i > d; i--) forms->digit[i] = forms->digit[i - 1];
    struct cs_gpu_form *outer = &forms->digit[d];
    outer[1].extent = extent;
    outer->extent /= extent;
    outer->source *= extent;
    outer->destination *= extent;
    for (int g = 0; g < forms->n_guards; g++) outer->guard[g] *= extent;
}

int64_t cs_gpu_largest_divisor(int64_t x, int64_t limit) {
    int64_t divisor = limit < x ? limit : x;
    while (x % divisor != 0) divisor--;
    return divisor;
}

/* ---- pieces grow ---- */

static bool is_even(int64_t x) { return x % 2 == 0; }

/* Whether guard g gives both elements of a pair of the innermost digit the same answer. */
static bool guard_keeps_pairs(const struct cs_gpu_forms *forms, int g) {
    int last = forms->n - 1;
    if (forms->digit[last].guard[g] == 0) return true;
    bool keeps = forms->digit[last].guard[g] == 1 && is_even(forms->left[g]);
    for (int d = 0; d < last; d++) keeps = keeps && is_even(forms->digit[d].guard[g]);
    return keeps;
}

static bool can_pair(const struct cs_gpu_forms *forms, uintptr_t from) {
    const struct cs_gpu_form *last = &forms->digit[forms->n - 1];
    uintptr_t doubled = (uintptr_t)forms->bits / 4; /* bytes; 4-bit elements begin at any byte */
    bool can = forms->bits < 128 && last->source == 1 && is_even(last->extent) && is_even(forms->start) && is_even(forms->source_size) &&
               from % doubled == 0;
    for (int d = 0; d < forms->n - 1; d++) can = can && is_even(forms->digit[d].source);
    for (int g = 0; g < forms->n_guards; g++) can = can && guard_keeps_pairs(forms, g);
    return can;
}

static void pair(struct cs_gpu_forms *forms) {
    int last = forms->n - 1;
    for (int g = 0; g < forms->n_guards; g++) {
        if (forms->digit[last].guard[g] == 0) continue;
        forms->left[g] /= 2;
        for (int d = 0; d < last; d++) forms->digit[d].guard[g] /= 2;
    }
    for (int d = 0; d < last; d++) forms->digit[d].source /= 2;
    forms->bits *= 2;
    forms->start /= 2;
    forms->source_size /= 2;
    forms->digit[last].extent /= 2;
    if (forms->digit[last].extent == 1 && last > 0) forms->n--;
}

/* ---- units ---- */

/* Whether the innermost digits, the last one split, count exactly n. */
static bool can_absorb(const struct cs_gpu_forms *forms, int64_t n) {
    for (int d = forms->n - 1; n > 1 && d >= 0; d--) {
        int64_t extent = forms->digit[d].extent;
        if (extent >= n) return extent % n == 0;
        if (n % extent != 0) return false;
        n /= extent;
    }
    return n == 1;
}

/* Splits digits so that the innermost ones count n; returns the first of them. */
static int absorb(struct cs_gpu_forms *forms, int64_t n) {
    int d = forms->n;
    while (n > 1) {
        int64_t extent = forms->digit[--d].extent;
        if (extent > n) {
            cs_gpu_forms_split(forms, d++, n);
            extent = n;
        }
        n /= extent;
    }
    return d;
}

/* Units of 16 or 4 bytes, or of a single piece; pairs of nibbles. Kernels exist for these. */
static int choose_unit(const struct cs_gpu_forms *forms, uintptr_t to) {
    static const int widths[] = {128, 32};
    for (size_t i = 0; i < CS_COUNT(widths); i++) {
        int bits = widths[i];
        if (bits >= forms->bits && to % (uintptr_t)(bits / 8) == 0 && can_absorb(forms, bits / forms->bits)) return bits;
    }
    return forms->bits == 4 && can_absorb(forms, 2) ? 8 : forms->bits;
}

void cs_gpu_digits_of(struct cs_gpu_digits *digits, const struct cs_gpu_forms *forms, int first, int end) {
    digits->n = 0;
    for (int d = end - 1; d >= first; d--) {
        const struct cs_gpu_form *form = &forms->digit[d];
        digits->extent[digits->n] = cs_gpu_divide_by(form->extent);
        digits->source[digits->n] = form->source;
        for (int g = 0; g < forms->n_guards; g++) digits->guard[g][digits->n] = form->guard[g];
        digits->n++;
    }
}

/* What the digits from `first` on, which count a unit's pieces, add for each of them. */
static void tabulate(struct cs_gpu_relayout *direct, const struct cs_gpu_forms *forms, int first) {
    struct cs_gpu_guards *guards = &direct->guards;
    for (int i = 0; i < guards->n_pieces; i++) {
        int64_t rest = i;
        for (int d = forms->n - 1; d >= first; d--) {
            int64_t digit = rest % forms->digit[d].extent;
            rest /= forms->digit[d].extent;
            direct->piece[i] += digit * forms->digit[d].source;
            for (int g = 0; g < guards->n; g++) guards->guard[g].piece[i] += digit * forms->digit[d].guard[g];
        }
        for (int g = 0; g < guards->n; g++)
            if (guards->guard[g].piece[i] > guards->guard[g].most) guards->guard[g].most = guards->guard[g].piece[i];
    }
}

static void make_word(struct cs_gpu_word *word, const uint8_t *moved_to) {
    for (int rotation = 0; rotation < 32; rotation++) {
        uint32_t mask = 0;
        for (int bit = 0; bit < 32; bit++)
            if ((moved_to[bit] - bit + 32) % 32 == rotation) mask |= UINT32_C(1) << moved_to[bit] % CS_INVERTED;
        if (!mask) continue;
        word->mask[word->n] = mask;
        word->rotation[word->n++] = (uint32_t)rotation;
    }
    for (int bit = 0; bit < 32; bit++)
        if (moved_to[bit] >= CS_INVERTED) word->inverted |= UINT32_C(1) << moved_to[bit] % CS_INVERTED;
}

/* ---- the job ---- */

struct job {
    struct cs_gpu_forms forms;
    struct cs_gpu_relayout direct;
    struct cs_gpu_tile tile;
    struct cs_gpu_permute permute;
};

static void make_direct(struct cs_gpu_relayout *direct, struct cs_gpu_forms *forms, unsigned char *to, const unsigned char *from, int64_t n_bits) {
    while (can_pair(forms, (uintptr_t)from)) pair(forms);
    number_destinations(forms);
    direct->to = to;
    direct->from = from;
    direct->piece_bits = forms->bits;
    direct->unit_bits = choose_unit(forms, (uintptr_t)to);
    direct->guards.n = forms->n_guards;
    direct->guards.n_pieces = direct->unit_bits / forms->bits;
    direct->n_units = n_bits / direct->unit_bits;
    direct->start = forms->start;
    for (int g = 0; g < forms->n_guards; g++) direct->guards.guard[g].left = forms->left[g];
    struct cs_gpu_forms units = *forms;
    int first = absorb(&units, direct->guards.n_pieces);
    tabulate(direct, &units, first);
    cs_gpu_digits_of(&direct->digits, &units, 0, first);
}

static enum cs_status launch(const struct cs_gpu_backend *backend, struct job *job, const struct cs_plan *plan, int64_t n_bits) {
    struct cs_gpu_relayout *direct = &job->direct;
    bool is_separate = plan->word && direct->unit_bits < 32;
    direct->has_word = plan->word && !is_separate;
    if (plan->word) make_word(&direct->word, plan->word);
    if (cs_gpu_tile_plan(&job->tile, direct, &job->forms))
        CS_TRY(backend->relayout_tiled(&job->tile));
    else
        CS_TRY(backend->relayout(direct));
    if (!is_separate) return CS_OK;
    job->permute = (struct cs_gpu_permute){direct->to, n_bits / 32, direct->word};
    return backend->permute(&job->permute);
}

enum cs_status cs_gpu_relayout_run(const struct cs_gpu_backend *backend, const struct cs_plan *plan, int64_t n_matrices,
                                   unsigned char *to, const unsigned char *from) {
    struct job *job = calloc(1, sizeof *job);
    CS_REQUIRE(job, CS_NO_MEMORY, "%s: no host memory for a relayout", backend->name);
    int64_t n_bits = n_matrices * plan->rows * plan->columns * plan->bits;
    job->forms = forms_of(plan, n_matrices);
    make_direct(&job->direct, &job->forms, to, from, n_bits);
    enum cs_status status = launch(backend, job, plan, n_bits);
    free(job);
    return status;
}
