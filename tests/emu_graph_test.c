/* What devices read back: many digests at once, graphs, and what probes leave, on every device that can run here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "gpu/gpu.h"
#include "tests/support_twin.h"

static const struct cs_device *ref(void) { return cs_device_by_name("ref"); }

/* More than one batch of them, with empty ones and one that is no memory in between. */
static void many_digests_are_the_single_ones(void **state) {
    (void)state;
    enum { N = CS_DIGESTS + 7 };
    FOR_DEVICES(device) {
        struct pair p;
        struct cs_view view[N];
        const struct cs_view *views[N];
        uint64_t digests[N], one;
        struct cs_storage numbers = {.kind = CS_STORAGE_SYNTHETIC,
                                     .bytes = 2 * N,
                                     .content = {.kind = CS_CONTENT_HASH, .as = CS_BF16, .key = 3}};
        pair_begin(&p, device, 16, CS_BF16);
        int64_t n = p.x.shape[0];
        for (int64_t i = 0; i < N; i++) {
            view[i] = p.x;
            views[i] = &view[i];
            ASSERT_OK(cs_view_narrow(&view[i], 0, i % n, i % 5 == 0 ? 0 : 1));
        }
        ASSERT_OK(cs_view_make(&view[3], &numbers, CS_BF16, 1, (const int64_t[]){N}));
        ASSERT_OK(cs_device_digests(device, views, N, digests));
        for (int i = 0; i < N; i++) {
            ASSERT_OK(cs_device_digest(device, views[i], &one));
            assert_true(digests[i] == one);
        }
        assert_true(digests[0] == cs_mix64(0));
        view[1].offset = (int64_t)p.x.storage->bytes; /* outside */
        assert_int_equal(cs_device_digests(device, views, N, digests), CS_BAD_INDEX);
        pair_end(&p, "digests");
    }
}

/* Views whose bytes lie together share launches, small ones and large ones. */
static void digests_of_dense_views_are_the_single_ones(void **state) {
    (void)state;
    enum { N = 40, BYTES = 1 << 19 };
    FOR_DEVICES(device) {
        struct twin twin;
        struct cs_view view[N], theirs[N];
        const struct cs_view *views[N];
        uint64_t digests[N], expected;
        twin_begin(&twin, device, BYTES, 5);
        for (int64_t i = 0; i < N; i++) {
            int64_t bytes = i % 4 == 3 ? 16 : i % 7 * 32768 + 16 * i;
            ASSERT_OK(cs_view_make(&view[i], &twin.ref, CS_U8, 1, &bytes));
            view[i].offset = 256 * i;
            theirs[i] = twin_view(&twin, &view[i]);
            views[i] = &theirs[i];
        }
        ASSERT_OK(cs_device_digests(device, views, N, digests));
        for (int i = 0; i < N; i++) {
            ASSERT_OK(cs_device_digest(ref(), &view[i], &expected));
            if (digests[i] != expected) fail_msg("%s, view %d", device->name, i);
        }
        twin_end(&twin);
    }
}

/* ---- graphs ---- */

/* R8.1: a replay reads the captured addresses, and sees what lies there now. */
static void a_graph_reads_the_captured_addresses_again(void **state) {
    (void)state;
    FOR_DEVICES(device) {
        struct pair p;
        void *graph;
        uint64_t before[3], after[3], expected;
        pair_begin(&p, device, 16, CS_BF16);
        struct cs_view empty = p.x;
        empty.ndim = 1, empty.shape[0] = 0, empty.stride[0] = 1;
        const struct cs_view views[] = {p.x, empty, p.y};
        ASSERT_OK(device->capture(device, views, 3, &graph));
        ASSERT_OK(device->replay(device, graph, before));
        ASSERT_OK(cs_device_digest(ref(), &p.a, &expected));
        assert_true(before[0] == expected && before[1] == cs_mix64(0));
        ASSERT_OK(cs_device_digest(ref(), &p.b, &expected));
        assert_true(before[2] == expected);
        ASSERT_OK(cs_device_copy(device, &p.x, &p.y));
        ASSERT_OK(cs_device_copy(ref(), &p.a, &p.b));
        ASSERT_OK(device->replay(device, graph, after));
        assert_true(after[0] == before[2] && after[2] == before[2] && after[1] == before[1]);
        device->forget(device, graph);
        ASSERT_OK(device->capture(device, NULL, 0, &graph));
        ASSERT_OK(device->replay(device, graph, NULL));
        device->forget(device, graph);
        pair_end(&p, "graph");
        assert_int_equal(cs_gpu_memory_used(device), 0);
    }
}

static void a_graph_reads_device_memory_only(void **state) {
    (void)state;
    FOR_DEVICES(device) {
        struct cs_storage host = {.kind = CS_STORAGE_HOST, .bytes = 4, .data = "abcd"};
        struct cs_view view;
        void *graph;
        ASSERT_OK(cs_view_make(&view, &host, CS_U8, 1, (int64_t[]){4}));
        assert_int_equal(device->capture(device, &view, 1, &graph), CS_UNSUPPORTED);
        assert_null(graph);
    }
}

/* Probes are what bench calls the limit: they must write all that they say, and nothing else. */
static void probes_touch_what_they_say(void **state) {
    (void)state;
    static const struct {
        size_t run, pitch;
    } runs[] = {{0, 0}, {16, 32}, {96, 1536}, {256, 512}, {48, 80}, {24, 96}, {12, 36}, {6, 96}, {3, 7}};
    enum { PROBED = 48 << 10 };
    static unsigned char bytes[PROBED];
    FOR_DEVICES(device) {
        void *data;
        ASSERT_OK(device->allocate(device, PROBED, &data));
        for (size_t r = 0; r < CS_COUNT(runs); r++) {
            size_t run = runs[r].run ? runs[r].run : PROBED, pitch = runs[r].pitch ? runs[r].pitch : PROBED;
            memset(bytes, 0xEE, PROBED);
            ASSERT_OK(device->upload(device, data, bytes, PROBED));
            ASSERT_OK(device->probe(device, CS_PROBE_WRITE, data, PROBED, runs[r].run, runs[r].pitch));
            ASSERT_OK(device->probe(device, CS_PROBE_READ, data, PROBED, 0, 0));
            ASSERT_OK(device->download(device, bytes, data, PROBED));
            size_t unit = 16; /* each holds its number, in its first eight bytes and in the others */
            while (run % unit || pitch % unit) unit /= 2;
            for (size_t i = 0; i < PROBED; i++) {
                bool is_written = i % pitch < run && i / pitch < PROBED / pitch;
                unsigned expected = is_written ? (unsigned)(i / unit >> (i % unit % 8 * 8) & 0xFF) : 0xEE;
                if (bytes[i] != expected) fail_msg("%s, runs of %zu in %zu: byte %zu", device->name, run, pitch, i);
            }
        }
        ASSERT_OK(device->probe(device, CS_PROBE_HASH, data, PROBED, 0, 0));
        ASSERT_OK(device->download(device, bytes, data, PROBED));
        for (size_t i = 0; i < PROBED / 8; i++) {
            uint64_t word, expected = cs_mix64(17 + i);
            memcpy(&word, bytes + 8 * i, 8);
            if (word != expected) fail_msg("%s: word %zu of the hash", device->name, i);
        }
        device->release(device, data, PROBED);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_digests_are_the_single_ones),
        cmocka_unit_test(digests_of_dense_views_are_the_single_ones),
        cmocka_unit_test(a_graph_reads_the_captured_addresses_again),
        cmocka_unit_test(a_graph_reads_device_memory_only),
        cmocka_unit_test(probes_touch_what_they_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
