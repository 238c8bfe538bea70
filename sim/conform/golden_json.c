#include "sim/conform/internal.h"

static enum cs_status member(const json_t *object, const char *key, bool is_right, const char *kind) {
    CS_REQUIRE(json_object_get(object, key), CS_BAD_FILE, "golden file: \"%s\" is missing", key);
    CS_REQUIRE(is_right, CS_BAD_FILE, "golden file: \"%s\" is not %s", key, kind);
    return CS_OK;
}

enum cs_status cs_golden_array(const json_t *object, const char *key, const json_t **array) {
    *array = json_object_get(object, key);
    return member(object, key, json_is_array(*array), "a list");
}

enum cs_status cs_golden_object(const json_t *object, const char *key, const json_t **found) {
    *found = json_object_get(object, key);
    return member(object, key, json_is_object(*found), "an object");
}

enum cs_status cs_golden_text(const json_t *object, const char *key, const char **text) {
    *text = cs_golden_string(object, key);
    return member(object, key, *text != NULL, "a text");
}

enum cs_status cs_golden_integer(const json_t *object, const char *key, int64_t *number) {
    const json_t *value = json_object_get(object, key);
    *number = json_integer_value(value);
    return member(object, key, json_is_integer(value), "an integer");
}

enum cs_status cs_golden_integers(const json_t *array, const char *key, size_t n, int64_t *numbers) {
    CS_REQUIRE(json_is_array(array) && json_array_size(array) == n, CS_BAD_FILE,
               "golden file: \"%s\" is not a list of %zu integers", key, n);
    for (size_t i = 0; i < n; i++) {
        const json_t *value = json_array_get(array, i);
        CS_REQUIRE(json_is_integer(value), CS_BAD_FILE, "golden file: \"%s\"[%zu] is not an integer", key, i);
        numbers[i] = json_integer_value(value);
    }
    return CS_OK;
}

enum cs_status cs_golden_shape(const json_t *object, const char *key, int *ndim, int64_t *shape) {
    const json_t *array;
    CS_TRY(cs_golden_array(object, key, &array));
    size_t n = json_array_size(array);
    CS_REQUIRE(n <= CS_NDIM, CS_BAD_FILE, "golden file: \"%s\" has %zu dimensions, more than %d", key, n, CS_NDIM);
    *ndim = (int)n;
    return cs_golden_integers(array, key, n, shape);
}

const char *cs_golden_string(const json_t *object, const char *key) {
    return json_string_value(json_object_get(object, key));
}
