/* SPDX-License-Identifier: Apache-2.0
 *
 * The orientation tag (0x0112) of IFD0, wherever a format keeps its EXIF data. */
#include "codec/codec_internal.h"

#include <string.h>

#include "common/checked.h"

enum { TAG_ORIENTATION = 0x0112, TYPE_BYTE = 1, TYPE_SHORT = 3, TYPE_LONG = 4 };

static uint32_t load_u16(const uint8_t *p, bool big)
{
    return big ? (uint32_t)p[0] << 8 | p[1] : (uint32_t)p[1] << 8 | p[0];
}

static uint32_t load_u32(const uint8_t *p, bool big)
{
    return big ? load_u16(p, true) << 16 | load_u16(p + 2, true)
               : load_u16(p + 2, false) << 16 | load_u16(p, false);
}

static uint8_t valid(uint32_t value)
{
    return value >= 1 && value <= 8 ? (uint8_t)value : 1;
}

/* The value of one 12-byte directory entry that holds an orientation, whatever integer type it has. */
static uint8_t entry_value(const uint8_t *entry, bool big)
{
    uint32_t type = load_u16(entry + 2, big);
    if (load_u32(entry + 4, big) != 1) return 1;
    if (type == TYPE_BYTE) return valid(entry[8]);
    if (type == TYPE_SHORT) return valid(load_u16(entry + 8, big));
    if (type == TYPE_LONG) return valid(load_u32(entry + 8, big));
    return 1;
}

uint8_t stk_exif_orientation(const uint8_t *tiff, size_t n_bytes)
{
    if (n_bytes >= 6 && memcmp(tiff, "Exif\0", 6) == 0) {
        tiff += 6;
        n_bytes -= 6;
    }
    if (n_bytes < 8) return 0;
    bool big = memcmp(tiff, "MM", 2) == 0;
    if (!big && memcmp(tiff, "II", 2) != 0) return 0;
    if (load_u16(tiff + 2, big) != 42) return 0;
    uint32_t offset = load_u32(tiff + 4, big);
    if (!stk_range_inside(offset, 2, n_bytes)) return 0;
    uint32_t n_entries = load_u16(tiff + offset, big);
    const uint8_t *entry = tiff + offset + 2;
    for (size_t left = n_bytes - offset - 2; n_entries > 0 && left >= 12; n_entries--, entry += 12, left -= 12) {
        if (load_u16(entry, big) == TAG_ORIENTATION) return entry_value(entry, big);
    }
    return 0;
}

uint8_t stk_xmp_orientation(const uint8_t *xmp, size_t n_bytes)
{
    static const char key[] = "tiff:Orientation";
    const size_t n_key = sizeof key - 1;
    const uint8_t *end = xmp + n_bytes;
    for (const uint8_t *p = xmp; (size_t)(end - p) > n_key;) {
        const uint8_t *hit = memmem(p, (size_t)(end - p), key, n_key);
        if (hit == NULL) return 0;
        p = hit + n_key;
        if (end - p >= 3 && p[0] == '=' && p[1] == '"' && p[2] >= '0' && p[2] <= '9')
            return valid(p[2] - (uint32_t)'0');
        if (end - p >= 2 && p[0] == '>' && p[1] >= '0' && p[1] <= '9') return valid(p[1] - (uint32_t)'0');
    }
    return 0;
}
