/* SPDX-License-Identifier: Apache-2.0 */
#include "packer/array_record.h"

#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/endian.h"
#include "common/fail.h"
#include "format/array_layout.h"

static const uint8_t NPY[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
enum { MAX_HEADER = 64 << 10 };

static bool is_npy(const uint8_t *head, size_t n)
{
    return n >= 10 && memcmp(head, NPY, sizeof NPY) == 0;
}

bool stk_is_array(const uint8_t *head, size_t n)
{
    stk_buffer model = {0};
    if (is_npy(head, n)) return true;
    bool same = n >= sizeof(stk_array_header) && stk_array_put_header(STK_TYPE_U8, 0, NULL, &model, NULL) == STK_OK &&
                memcmp(head, model.data, sizeof ((stk_array_header *)0)->magic) == 0;
    stk_buffer_free(&model);
    return same;
}

/* What follows 'key': in the header's dictionary, or NULL. */
static const char *find_key(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    if (at == NULL) return NULL;
    at += strlen(key);
    at += strspn(at, "'\" ");
    if (*at != ':') return NULL;
    at++;
    return at + strspn(at, " ");
}

static bool type_of(const char *descr, stk_type *type, size_t *swap)
{
    static const struct {
        const char *name;
        stk_type type;
        uint8_t width;
    } TYPES[] = {{"b1", STK_TYPE_BOOL, 1}, {"u1", STK_TYPE_U8, 1},  {"i1", STK_TYPE_I8, 1},  {"u2", STK_TYPE_U16, 2},
                 {"i2", STK_TYPE_I16, 2},  {"u4", STK_TYPE_U32, 4}, {"i4", STK_TYPE_I32, 4}, {"u8", STK_TYPE_U64, 8},
                 {"i8", STK_TYPE_I64, 8},  {"f2", STK_TYPE_F16, 2}, {"f4", STK_TYPE_F32, 4}, {"f8", STK_TYPE_F64, 8}};
    if (*descr != '\'' && *descr != '"') return false;
    char order = descr[1];
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++) {
        if (strncmp(descr + 2, TYPES[i].name, 2) != 0 || descr[4] != descr[0]) continue;
        *type = TYPES[i].type;
        *swap = order == '>' ? TYPES[i].width : 1;
        return order == '<' || order == '|' || order == '>';
    }
    return false;
}

static bool shape_of(const char *text, uint32_t *n_dims, uint64_t *shape)
{
    if (*text++ != '(') return false;
    for (*n_dims = 0;; text += strspn(text, ", ")) {
        text += strspn(text, " ");
        if (*text == ')') return true;
        if (*text < '0' || *text > '9' || *n_dims == STK_ARRAY_MAX_DIMS) return false;
        char *end;
        shape[(*n_dims)++] = strtoull(text, &end, 10);
        text = end;
    }
}

static void swap_elements(uint8_t *p, size_t n_bytes, size_t width)
{
    for (uint8_t *end = p + n_bytes / width * width; width > 1 && p < end; p += width)
        for (size_t a = 0, b = width - 1; a < b; a++, b--) {
            uint8_t t = p[a];
            p[a] = p[b];
            p[b] = t;
        }
}

static stk_status from_npy(const uint8_t *data, size_t n_bytes, stk_buffer *out, stk_error *error)
{
    char text[MAX_HEADER];
    bool wide = data[6] >= 2;
    size_t start = wide ? 12 : 10;
    if (n_bytes < start) return stk_fail(error, STK_ERR_IMAGE, "the .npy header ends early");
    size_t n_text = wide ? stk_load32(data + 8) : stk_load16(data + 8);
    if (n_text >= sizeof text || n_text > n_bytes - start)
        return stk_fail(error, STK_ERR_IMAGE, "the .npy header ends early");
    memcpy(text, data + start, n_text);
    text[n_text] = '\0';
    const char *descr = find_key(text, "descr"), *order = find_key(text, "fortran_order"),
               *dims = find_key(text, "shape");
    uint32_t n_dims = 0;
    uint64_t shape[STK_ARRAY_MAX_DIMS];
    if (descr == NULL || order == NULL || dims == NULL || !shape_of(dims, &n_dims, shape))
        return stk_fail(error, STK_ERR_IMAGE, "the .npy header cannot be read");
    stk_type type;
    size_t swap;
    if (!type_of(descr, &type, &swap))
        return stk_fail(error, STK_ERR_UNSUPPORTED, "a .npy of type %.24s; numbers and bool can be stored", descr);
    if (strncmp(order, "True", 4) == 0 && n_dims > 1)
        return stk_fail(error, STK_ERR_UNSUPPORTED, "a .npy in Fortran order; save numpy.ascontiguousarray(x)");
    out->n_bytes = 0;
    STK_TRY(stk_array_put_header(type, n_dims, shape, out, error));
    size_t head = out->n_bytes;
    STK_TRY(stk_buffer_append(out, data + start + n_text, n_bytes - start - n_text, error));
    swap_elements(out->data + head, out->n_bytes - head, swap);
    return STK_OK;
}

stk_status stk_array_from_bytes(const uint8_t *data, size_t n_bytes, stk_buffer *out, stk_error *error)
{
    stk_array_info info;
    stk_error why;
    out->n_bytes = 0;
    if (is_npy(data, n_bytes))
        STK_TRY(from_npy(data, n_bytes, out, error));
    else
        STK_TRY(stk_buffer_append(out, data, n_bytes, error));
    if (stk_array_parse(out->data, out->n_bytes, &info, &why) == STK_OK) return STK_OK;
    return stk_fail(error, STK_ERR_IMAGE, "an array whose length does not fit its shape");
}
