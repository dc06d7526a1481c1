/* SPDX-License-Identifier: Apache-2.0
 *
 * Damaged images that were kept on purpose are delivered; those that were not asked for stay errors. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <stoker/stoker.h>

#include "common/buffer.h"
#include "common/file.h"
#include "support/check.h"

static stk_error error;
static char folder[64], output[96];

static void make_folder(void)
{
    static const char *const PHOTO = STOKER_SOURCE_DIR "/examples/data/clothing";
    char command[512];
    snprintf(folder, sizeof folder, "kept_damage.XXXXXX");
    CHECK(mkdtemp(folder) != NULL);
    snprintf(output, sizeof output, "%s.stk", folder);
    snprintf(command, sizeof command, "f=$(find '%s' -name '*.jpg' | sort | head -n 1); cp \"$f\" %s/whole.jpg && head -c 9000 \"$f\" > %s/short.jpg",
             PHOTO, folder, folder);
    CHECK_EQ(system(command), 0);
}

static void clean(void)
{
    char command[256];
    snprintf(command, sizeof command, "rm -rf %s %s*", folder, output);
    CHECK_EQ(system(command), 0);
}

static stk_status pack(uint32_t kinds)
{
    stk_pack_options o;
    stk_pack_options_init(&o);
    o.encode = STK_ENCODE_KEEP;
    o.on_damaged = STK_DAMAGED_KEEP;
    o.keep_damage = kinds;
    o.force = true;
    stk_pack_report report;
    stk_status status = stk_pack(folder, output, &o, &report, &error);
    if (status == STK_OK) CHECK_EQ(report.damaged, 1);
    return status;
}

/* Samples that one epoch delivers, or the first error. */
static stk_status load(uint32_t *n)
{
    stk_dataset *d = NULL;
    stk_loader *l = NULL;
    stk_batch *b = NULL;
    stk_loader_options o;
    stk_loader_options_init(&o);
    o.transform.out_width = o.transform.out_height = 32;
    o.order = STK_ORDER_SEQUENTIAL;
    o.batch_size = 1;
    o.n_threads = 1;
    *n = 0;
    stk_status status = stk_dataset_open(output, NULL, &d, &error), first = STK_OK;
    if (status == STK_OK) status = stk_loader_open(d, &o, &l, &error);
    while (l != NULL && (status = stk_loader_next(l, -1, &b, &error)) != STK_END) {
        if (status == STK_OK) *n += b->n;
        else if (first == STK_OK) first = status;
        stk_batch_release(b);
        b = NULL;
    }
    stk_loader_close(&l);
    stk_dataset_close(&d);
    return first;
}

static void kept_kinds_are_delivered(void)
{
    uint32_t n;
    make_folder();
    CHECK_OK(pack(0)); /* all kinds */
    CHECK_OK(load(&n));
    CHECK_EQ(n, 2);
    CHECK_OK(pack(STK_DAMAGE_TRUNCATED));
    CHECK_OK(load(&n));
    CHECK_EQ(n, 2);
    stk_verify_options v;
    stk_verify_options_init(&v);
    v.deep = true;
    stk_verify_report report;
    CHECK_OK(stk_verify(output, &v, &report, &error));
    clean();
}

static void other_kinds_are_skipped_when_packing(void)
{
    uint32_t n;
    make_folder();
    CHECK_OK(pack(STK_DAMAGE_CHECKSUM));
    CHECK_OK(load(&n));
    CHECK_EQ(n, 1);
    clean();
}

int main(void)
{
    RUN(kept_kinds_are_delivered);
    RUN(other_kinds_are_skipped_when_packing);
    return check_exit();
}
