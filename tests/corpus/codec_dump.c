/* SPDX-License-Identifier: Apache-2.0
 *
 * codec_dump rgb|l: for each path on stdin (one a line) writes to stdout one line
 *
 *   status kinds encoding width height channels orientation probe-status TAB text
 *
 * and, when status is "ok", width * height * channels bytes of pixels. For test_pillow.py, which holds them
 * against Pillow's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <stoker/stoker.h>

#include "codec/codec.h"
#include "common/file.h"

static void dump(stk_codec_ctx *ctx, const char *path, stk_mode mode)
{
    stk_buffer file = {0};
    stk_error error = {0};
    stk_image image = {0};
    stk_image_info info = {0};
    stk_damage_report damage = {0};
    stk_status probed = STK_ERR_IO, status = stk_file_read_all(path, UINT64_C(1) << 32, &file, &error);
    if (status == STK_OK) {
        probed = stk_codec_probe(ctx, file.data, file.n_bytes, &info, &error);
        stk_encoding encoding = stk_codec_sniff(file.data, file.n_bytes);
        status = stk_codec_decode(ctx, encoding, file.data, file.n_bytes, mode, &image, &damage, &error);
    }
    printf("%s %u %s %u %u %u %u %s\t%s\n", stk_status_name(status), (unsigned)damage.kinds,
           stk_encoding_name(info.encoding), (unsigned)image.width, (unsigned)image.height,
           (unsigned)image.channels, (unsigned)info.orientation, stk_status_name(probed),
           status == STK_OK ? damage.text : error.text);
    if (status == STK_OK) {
        for (uint32_t y = 0; y < image.height; y++) {
            (void)fwrite(image.pixels + y * image.stride, 1, (size_t)image.width * image.channels, stdout);
        }
    }
    (void)fflush(stdout);
    stk_buffer_free(&file);
}

int main(int argc, char **argv)
{
    stk_codec_ctx *ctx;
    stk_error error = {0};
    if (argc != 2 || stk_codec_ctx_open(NULL, &ctx, &error) != STK_OK) {
        fprintf(stderr, "usage: codec_dump rgb|l < paths %s\n", error.text);
        return 64;
    }
    char path[4096];
    while (fgets(path, sizeof path, stdin) != NULL) {
        path[strcspn(path, "\n")] = '\0';
        dump(ctx, path, strcmp(argv[1], "l") == 0 ? STK_MODE_L : STK_MODE_RGB);
    }
    stk_codec_ctx_close(&ctx);
    return 0;
}
