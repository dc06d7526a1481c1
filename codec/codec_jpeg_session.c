/* SPDX-License-Identifier: Apache-2.0
 *
 * Guarded libjpeg: errors become statuses, warnings become damage, resources are bounded. */
#include "codec/codec_jpeg.h"

#include <jerror.h>
#include <stdlib.h>
#include <string.h>

#include "common/fail.h"

/* A progressive file can ask for any number of passes over the whole picture. Encoders write about ten;
 * jpegtran scripts some dozens. Small pictures may have MAX_SCANS, big ones as many as keep the total below
 * SCAN_PIXELS, but never fewer than MIN_SCANS. */
enum { MIN_SCANS = 64, MAX_SCANS = 500 };
#define SCAN_PIXELS (UINT64_C(1) << 31)

_Noreturn static void escape_with(stk_jpeg *jpeg, stk_status status)
{
    jpeg->failure = status;
    longjmp(jpeg->escape, 1);
}

static stk_status status_of_error(int code)
{
    switch (code) {
    case JERR_OUT_OF_MEMORY: return STK_ERR_MEMORY;
    case JERR_BAD_PRECISION:
    case JERR_SOF_UNSUPPORTED:
    case JERR_ARITH_NOTIMPL:
    case JERR_NOTIMPL:
    case JERR_CONVERSION_NOTIMPL:
    case JERR_CCIR601_NOTIMPL:
    case JERR_FRACT_SAMPLE_NOTIMPL: return STK_ERR_UNSUPPORTED;
    default: return STK_ERR_IMAGE;
    }
}

_Noreturn static void on_error(j_common_ptr cinfo)
{
    stk_jpeg *jpeg = cinfo->client_data;
    (*cinfo->err->format_message)(cinfo, jpeg->reason);
    escape_with(jpeg, status_of_error(cinfo->err->msg_code));
}

static stk_damage kind_of_warning(int code)
{
    switch (code) {
    case JWRN_EXTRANEOUS_DATA: return STK_DAMAGE_EXTRANEOUS;
    case JWRN_HIT_MARKER:
    case JWRN_JPEG_EOF: return STK_DAMAGE_TRUNCATED;
    case JWRN_HUFF_BAD_CODE:
    case JWRN_ARITH_BAD_CODE:
    case JWRN_MUST_RESYNC: return STK_DAMAGE_ENTROPY;
    case JWRN_BOGUS_PROGRESSION:
    case JWRN_NOT_SEQUENTIAL:
    case JWRN_JFIF_MAJOR:
    case JWRN_ADOBE_XFORM: return STK_DAMAGE_HEADER;
    default: return STK_DAMAGE_OTHER;
    }
}

static void on_message(j_common_ptr cinfo, int level)
{
    if (level >= 0) return; /* traces */
    stk_jpeg *jpeg = cinfo->client_data;
    cinfo->err->num_warnings++;
    char text[JMSG_LENGTH_MAX];
    (*cinfo->err->format_message)(cinfo, text);
    stk_damage_note(jpeg->damage, kind_of_warning(cinfo->err->msg_code), "%s", text);
}

static void on_output(j_common_ptr cinfo)
{
    (void)cinfo; /* the library prints nothing */
}

static void on_progress(j_common_ptr common)
{
    stk_jpeg *jpeg = common->client_data;
    if (jpeg->cinfo.input_scan_number <= jpeg->max_scans) return;
    (void)snprintf(jpeg->reason, sizeof jpeg->reason, "more than %d scans in a picture of this size",
                   jpeg->max_scans);
    escape_with(jpeg, STK_ERR_LIMIT);
}

static uint8_t next_byte(j_decompress_ptr cinfo)
{
    struct jpeg_source_mgr *source = cinfo->src;
    if (source->bytes_in_buffer == 0) (void)(*source->fill_input_buffer)(cinfo); /* warns, gives an EOI */
    source->bytes_in_buffer--;
    return *source->next_input_byte++;
}

/* APP1: looks for the orientation without copying the segment, then skips it as libjpeg would. */
static boolean on_app1(j_decompress_ptr cinfo)
{
    static const char exif[6] = "Exif\0", xmp[29] = "http://ns.adobe.com/xap/1.0/";
    stk_jpeg *jpeg = cinfo->client_data;
    size_t length = (size_t)next_byte(cinfo) << 8;
    length |= next_byte(cinfo);
    length = length >= 2 ? length - 2 : 0;
    const uint8_t *data = cinfo->src->next_input_byte;
    size_t n = cinfo->src->bytes_in_buffer < length ? cinfo->src->bytes_in_buffer : length;
    if (n >= sizeof exif && memcmp(data, exif, sizeof exif) == 0) {
        if (jpeg->exif_orientation == 0) jpeg->exif_orientation = stk_exif_orientation(data + 6, n - 6);
    } else if (n >= sizeof xmp && memcmp(data, xmp, sizeof xmp) == 0) {
        if (jpeg->xmp_orientation == 0) {
            jpeg->xmp_orientation = stk_xmp_orientation(data + sizeof xmp, n - sizeof xmp);
        }
    }
    if (length > 0) (*cinfo->src->skip_input_data)(cinfo, (long)length);
    return TRUE;
}

static void set_scan_limit(stk_jpeg *jpeg)
{
    uint64_t n_pixels = (uint64_t)jpeg->cinfo.image_width * jpeg->cinfo.image_height;
    uint64_t limit = SCAN_PIXELS / n_pixels;
    jpeg->max_scans = limit < MIN_SCANS ? MIN_SCANS : limit > MAX_SCANS ? MAX_SCANS : (int)limit;
}

static void close_state(void *state)
{
    free(state); /* the decompressor in it never outlives stk_jpeg_run */
}

static stk_status guarded(stk_jpeg *jpeg, const uint8_t *data, size_t n_bytes, stk_jpeg_body body, void *arg,
                          stk_error *error)
{
    if (setjmp(jpeg->escape) != 0) return stk_fail(error, jpeg->failure, "%s", jpeg->reason);
    jpeg_create_decompress(&jpeg->cinfo); /* keeps err and client_data */
    jpeg->cinfo.progress = &jpeg->progress;
    jpeg_set_marker_processor(&jpeg->cinfo, JPEG_APP0 + 1, on_app1);
    jpeg_mem_src(&jpeg->cinfo, data, (unsigned long)n_bytes);
    (void)jpeg_read_header(&jpeg->cinfo, TRUE);
    STK_TRY(stk_codec_check_size(jpeg->ctx, jpeg->cinfo.image_width, jpeg->cinfo.image_height, error));
    set_scan_limit(jpeg);
    return body(jpeg, arg, error);
}

stk_status stk_jpeg_run(stk_codec_ctx *ctx, const uint8_t *data, size_t n_bytes, stk_damage_report *damage,
                        stk_jpeg_body body, void *arg, stk_error *error)
{
    void *state;
    STK_TRY(stk_ctx_state(ctx, STK_CTX_JPEG, sizeof(stk_jpeg), close_state, &state, error));
    stk_jpeg *jpeg = state;
    memset(&jpeg->cinfo, 0, sizeof jpeg->cinfo);
    jpeg->cinfo.err = jpeg_std_error(&jpeg->errors);
    jpeg->errors.error_exit = on_error;
    jpeg->errors.emit_message = on_message;
    jpeg->errors.output_message = on_output;
    jpeg->progress.progress_monitor = on_progress;
    jpeg->cinfo.client_data = jpeg;
    jpeg->ctx = ctx;
    jpeg->damage = damage;
    jpeg->max_scans = MAX_SCANS;
    jpeg->exif_orientation = 0;
    jpeg->xmp_orientation = 0;
    stk_status status = guarded(jpeg, data, n_bytes, body, arg, error);
    jpeg_destroy_decompress(&jpeg->cinfo);
    return status;
}

/* libjpeg-turbo 3 decodes lossless files and 2 does not: refused with both, so that a data set does not depend on
 * the machine. Their scans have a predictor (1..7) and 0 where those of a DCT have 0 and 63. */
static bool is_lossless(const struct jpeg_decompress_struct *c)
{
    return !c->progressive_mode && c->Ss >= 1 && c->Se == 0;
}

stk_status stk_jpeg_set_output(stk_jpeg *jpeg, stk_error *error)
{
    struct jpeg_decompress_struct *c = &jpeg->cinfo;
    if (c->data_precision != 8) {
        return stk_fail(error, STK_ERR_UNSUPPORTED, "a JPEG of %d bits; only 8 bits are read", c->data_precision);
    }
    if (is_lossless(c)) return stk_fail(error, STK_ERR_UNSUPPORTED, "a lossless JPEG");
    switch (c->num_components) {
    case 1: c->out_color_space = JCS_GRAYSCALE; break;
    case 3: c->out_color_space = JCS_RGB; break;
    case 4: c->out_color_space = JCS_CMYK; break;
    default:
        return stk_fail(error, STK_ERR_UNSUPPORTED, "a JPEG of %d components; 1, 3 or 4 are read",
                        c->num_components);
    }
    c->dct_method = JDCT_ISLOW;
    c->do_fancy_upsampling = TRUE;
    return STK_OK;
}

bool stk_jpeg_tileable(const stk_jpeg *jpeg)
{
    const struct jpeg_decompress_struct *c = &jpeg->cinfo;
    if (c->data_precision != 8 || is_lossless(c)) return false;
    if (!(c->num_components == 1 && c->jpeg_color_space == JCS_GRAYSCALE) &&
        !(c->num_components == 3 && c->jpeg_color_space == JCS_YCbCr)) {
        return false;
    }
    int h_max = 1, v_max = 1;
    for (int i = 0; i < c->num_components; i++) {
        if (c->comp_info[i].h_samp_factor > h_max) h_max = c->comp_info[i].h_samp_factor;
        if (c->comp_info[i].v_samp_factor > v_max) v_max = c->comp_info[i].v_samp_factor;
    }
    for (int i = 0; i < c->num_components; i++) {
        if (h_max % c->comp_info[i].h_samp_factor != 0 || v_max % c->comp_info[i].v_samp_factor != 0)
            return false;
    }
    return true;
}
