#include "sim/checkpoint/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static enum cs_status map_descriptor(const char *path, int descriptor, struct cs_mapping *mapping) {
    struct stat info;
    CS_REQUIRE(fstat(descriptor, &info) == 0, CS_BAD_FILE, "%s: cannot be examined: %s", path, strerror(errno));
    CS_REQUIRE(S_ISREG(info.st_mode), CS_BAD_FILE, "%s: is not a regular file: give a file", path);
    mapping->size = (size_t)info.st_size;
    if (mapping->size == 0) return CS_OK; /* mmap refuses an empty range */
    void *data = mmap(NULL, mapping->size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    CS_REQUIRE(data != MAP_FAILED, CS_BAD_FILE, "%s: cannot map %zu bytes: %s", path, mapping->size, strerror(errno));
    mapping->data = data;
    return CS_OK;
}

enum cs_status cs_mapping_open(const char *path, struct cs_mapping *mapping) {
    *mapping = (struct cs_mapping){0};
    int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* a pipe without a writer must not block us */
    CS_REQUIRE(descriptor >= 0, CS_BAD_FILE, "%s: cannot be opened: %s", path, strerror(errno));
    enum cs_status status = map_descriptor(path, descriptor, mapping);
    close(descriptor);
    return status;
}

void cs_mapping_close(struct cs_mapping *mapping) {
    if (mapping->data) munmap((void *)mapping->data, mapping->size);
    *mapping = (struct cs_mapping){0};
}

/* The name of the tensor that a place in a JSON text is about: the last key there, `depth` objects deep; "" before the
 * first. Good enough for text that is no JSON any more. */
static const char *tensor_near(const unsigned char *text, size_t end, int depth, char buffer[CS_QUOTED]) {
    int here = 0;
    size_t key = 0, length = 0, start = 0;
    bool is_string = false;
    for (size_t i = 0; i < end; i++) {
        if (is_string && text[i] == '\\')
            i++;
        else if (text[i] == '"' && (is_string = !is_string))
            start = i + 1;
        else if (!is_string && (text[i] == '{' || text[i] == '}'))
            here += text[i] == '{' ? 1 : -1;
        else if (!is_string && text[i] == ':' && here == depth)
            key = start, length = i - start;
    }
    char name[CS_QUOTED] = "";
    while (length && text[key + length - 1] != '"') length--; /* spaces before the colon */
    if (length) length = length - 1 < sizeof name ? length - 1 : sizeof name - 1;
    memcpy(name, text + key, length);
    return cs_quoted(name, buffer);
}

enum cs_status cs_json_object(const char *path, const char *what, const unsigned char *text, size_t size,
                              json_t **root) {
    CS_REQUIRE(size > 0 && text[0] == '{', CS_BAD_FILE,
               "%s: the %s does not begin with '{': not such a file, or damaged", path, what);
    json_error_t error;
    *root = json_loadb((const char *)text, size, JSON_REJECT_DUPLICATES, &error);
    if (*root) return CS_OK;
    char quoted[CS_QUOTED], name[CS_QUOTED];
    bool is_header = cs_text_equal(what, "header"); /* tensors are its keys; in an index, those of the weight map */
    size_t end = error.position > 0 && (size_t)error.position < size ? (size_t)error.position : size;
    tensor_near(text, end, is_header ? 1 : 2, name);
    enum cs_status status = json_error_code(&error) == json_error_out_of_memory ? CS_NO_MEMORY : CS_BAD_FILE;
    return cs_fail(status, "%s: the %s is not valid JSON near its byte %d%s%s%s: %s", path, what, error.position,
                   *name ? ", tensor \"" : "", name, *name ? "\"" : "", cs_quoted(error.text, quoted));
}

const char *cs_quoted(const char *text, char buffer[CS_QUOTED]) {
    static const char cut[] = "...";
    size_t length = strlen(text), kept = length < CS_QUOTED ? length : CS_QUOTED - sizeof cut;
    while (kept < length && kept > 0 && ((unsigned char)text[kept] & 0xC0) == 0x80) kept--; /* no half characters */
    for (size_t i = 0; i < kept; i++) {
        unsigned char byte = (unsigned char)text[i];
        buffer[i] = byte < 0x20 || byte == 0x7F ? '?' : text[i];
    }
    if (kept < length)
        memcpy(buffer + kept, cut, sizeof cut);
    else
        buffer[kept] = '\0';
    return buffer;
}
