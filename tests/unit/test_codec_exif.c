/* SPDX-License-Identifier: Apache-2.0
 *
 * The orientation tag: byte orders, value types, values that mean nothing, directories that lie about their
 * place. */
#include "codec/codec_internal.h"
#include "support/check.h"

/* Little-endian TIFF of one directory of one entry: 0x0112, SHORT, 1 value. */
static const uint8_t LITTLE[26] = {'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, 6};
static const uint8_t BIG[26] = {'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1, 0, 6};

static uint8_t with(size_t at, uint8_t value)
{
    uint8_t copy[sizeof LITTLE];
    memcpy(copy, LITTLE, sizeof copy);
    copy[at] = value;
    return stk_exif_orientation(copy, sizeof copy);
}

static void test_byte_orders(void)
{
    CHECK_EQ(stk_exif_orientation(LITTLE, sizeof LITTLE), 6);
    CHECK_EQ(stk_exif_orientation(BIG, sizeof BIG), 6);
    uint8_t prefixed[6 + sizeof BIG] = "Exif";
    memcpy(prefixed + 6, BIG, sizeof BIG);
    CHECK_EQ(stk_exif_orientation(prefixed, sizeof prefixed), 6);
}

static void test_values(void)
{
    for (uint8_t v = 1; v <= 8; v++) CHECK_EQ(with(18, v), v);
    CHECK_EQ(with(18, 0), 1); /* a tag that means nothing is still a tag: no look at XMP */
    CHECK_EQ(with(18, 9), 1);
    CHECK_EQ(with(19, 1), 1);
    CHECK_EQ(with(12, 1), 6); /* BYTE */
    CHECK_EQ(with(12, 4), 6); /* LONG */
    CHECK_EQ(with(12, 2), 1); /* ASCII */
    CHECK_EQ(with(14, 2), 1); /* two values */
}

static void test_no_tag(void)
{
    CHECK_EQ(with(10, 0x13), 0);
    CHECK_EQ(with(8, 0), 0); /* no entries */
    CHECK_EQ(with(0, 'J'), 0);
    CHECK_EQ(with(2, 41), 0);
    CHECK_EQ(stk_exif_orientation(LITTLE, 0), 0);
}

static void test_lies(void)
{
    for (size_t n = 0; n < 22; n++) CHECK_EQ(stk_exif_orientation(LITTLE, n), 0);
    CHECK_EQ(stk_exif_orientation(LITTLE, 22), 6);
    for (int place = 25; place < 256; place++) CHECK_EQ(with(4, (uint8_t)place), 0);
    CHECK_EQ(with(7, 0xff), 0);
    CHECK_EQ(with(9, 0xff), 6); /* 65,281 entries are announced; the first is there */
}

static uint8_t xmp(const char *text)
{
    return stk_xmp_orientation((const uint8_t *)text, strlen(text));
}

static void test_xmp(void)
{
    CHECK_EQ(xmp("<x tiff:Orientation=\"6\"/>"), 6);
    CHECK_EQ(xmp("<tiff:Orientation>8</tiff:Orientation>"), 8);
    CHECK_EQ(xmp("tiff:Orientation tiff:Orientation=\"3\""), 3);
    CHECK_EQ(xmp("tiff:Orientation=\"9\""), 1);
    CHECK_EQ(xmp("tiff:Orientation=\"x\""), 0);
    CHECK_EQ(xmp("tiff:Orientation=\""), 0);
    CHECK_EQ(xmp("tiff:Orientation>"), 0);
    CHECK_EQ(xmp("tiff:Orientation"), 0);
    CHECK_EQ(xmp(""), 0);
}

int main(void)
{
    RUN(test_byte_orders);
    RUN(test_values);
    RUN(test_no_tag);
    RUN(test_lies);
    RUN(test_xmp);
    return check_exit();
}
