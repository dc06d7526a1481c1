/* SPDX-License-Identifier: Apache-2.0
 *
 * Pixels -> baseline JPEG with optimal Huffman tables, through libjpeg-turbo. */
#include "codec/codec_jpeg.h"

#include <jerror.h>
#include <string.h>

#include "common/buffer.h"
#include "common/fail.h"

enum { FIRST_CAPACITY = 1 << 16 };

typedef struct encoder {
    struct jpeg_compress_struct cinfo;
    struct jpeg_error_mgr errors;
    struct jpeg_destination_mgr destination;
    jmp_buf escape;
    stk_buffer *out;
    stk_status failure;
    char reason[JMSG_LENGTH_MAX];
} encoder;

_Noreturn static void on_error(j_common_ptr cinfo)
{
    encoder *e = cinfo->client_data;
    (*cinfo->err->format_message)(cinfo, e->reason);
    /* Apart from memory libjpeg refuses only parameters, and those were checked. */
    e->failure = cinfo->err->msg_code == JERR_OUT_OF_MEMORY ? STK_ERR_MEMORY : STK_ERR_INTERNAL;
    longjmp(e->escape, 1);
}

static void on_message(j_common_ptr cinfo, int level)
{
    (void)cinfo;
    (void)level;
}

/* Room from `used` on; libjpeg is told of all of it. */
static void give_room(encoder *e, size_t used)
{
    size_t capacity = e->out->capacity > used ? e->out->capacity : used + FIRST_CAPACITY;
    if (stk_buffer_reserve(e->out, capacity, NULL) != STK_OK) {
        e->failure = STK_ERR_MEMORY;
        (void)snprintf(e->reason, sizeof e->reason, "out of memory for an encoded picture");
        longjmp(e->escape, 1);
    }
    e->destination.next_output_byte = e->out->data + used;
    e->destination.free_in_buffer = e->out->capacity - used;
}

static void init_destination(j_compress_ptr cinfo)
{
    give_room(cinfo->client_data, 0);
}

static boolean empty_output_buffer(j_compress_ptr cinfo)
{
    encoder *e = cinfo->client_data;
    e->out->n_bytes = e->out->capacity; /* libjpeg filled all of it; reserve keeps n_bytes bytes */
    give_room(e, e->out->n_bytes);
    return TRUE;
}

static void term_destination(j_compress_ptr cinfo)
{
    encoder *e = cinfo->client_data;
    e->out->n_bytes = e->out->capacity - e->destination.free_in_buffer;
}

static void write_orientation(j_compress_ptr cinfo, uint8_t orientation)
{
    /* "Exif", then a little-endian TIFF of one directory of one entry: 0x0112, SHORT, 1 value. */
    uint8_t exif[32] = {'E', 'x', 'i', 'f', 0, 0, 'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 0x01, 3, 0, 1};
    exif[24] = orientation;
    jpeg_write_marker(cinfo, JPEG_APP0 + 1, exif, sizeof exif);
}

static void set_parameters(j_compress_ptr c, const stk_image *image, uint32_t quality, bool chroma_444)
{
    c->image_width = image->width;
    c->image_height = image->height;
    c->input_components = image->channels;
    c->in_color_space = image->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(c); /* YCbCr 4:2:0, or grey */
    jpeg_set_quality(c, (int)quality, TRUE);
    c->optimize_coding = TRUE;
    c->dct_method = JDCT_ISLOW;
    if (chroma_444 && c->num_components == 3) {
        c->comp_info[0].h_samp_factor = 1;
        c->comp_info[0].v_samp_factor = 1;
    }
}

static stk_status guarded(encoder *e, const stk_image *image, uint32_t quality, bool chroma_444,
                          uint8_t orientation, stk_error *error)
{
    if (setjmp(e->escape) != 0) return stk_fail(error, e->failure, "encoding a JPEG: %s", e->reason);
    j_compress_ptr c = &e->cinfo;
    jpeg_create_compress(c);
    c->dest = &e->destination;
    set_parameters(c, image, quality, chroma_444);
    jpeg_start_compress(c, TRUE);
    if (orientation >= 2 && orientation <= 8) write_orientation(c, orientation);
    while (c->next_scanline < c->image_height) {
        JSAMPROW row = image->pixels + c->next_scanline * image->stride;
        (void)jpeg_write_scanlines(c, &row, 1);
    }
    jpeg_finish_compress(c);
    return STK_OK;
}

stk_status stk_codec_encode_jpeg(stk_codec_ctx *ctx, const stk_image *image, uint32_t quality, bool chroma_444,
                                 uint8_t orientation, stk_buffer *out, stk_error *error)
{
    (void)ctx;
    if (quality < 1 || quality > 100) {
        return stk_fail(error, STK_ERR_ARGUMENT, "quality is %u; JPEG takes 1 to 100", (unsigned)quality);
    }
    if (image->width == 0 || image->height == 0 || image->width > JPEG_MAX_DIMENSION ||
        image->height > JPEG_MAX_DIMENSION) {
        return stk_fail(error, STK_ERR_UNSUPPORTED, "a JPEG cannot hold %ux%u pixels; at most %ld a side",
                        (unsigned)image->width, (unsigned)image->height, JPEG_MAX_DIMENSION);
    }
    encoder e;
    memset(&e, 0, sizeof e);
    e.cinfo.err = jpeg_std_error(&e.errors);
    e.errors.error_exit = on_error;
    e.errors.emit_message = on_message;
    e.destination.init_destination = init_destination;
    e.destination.empty_output_buffer = empty_output_buffer;
    e.destination.term_destination = term_destination;
    e.cinfo.client_data = &e;
    e.out = out;
    out->n_bytes = 0;
    stk_status status = guarded(&e, image, quality, chroma_444, orientation, error);
    jpeg_destroy_compress(&e.cinfo);
    return status;
}
