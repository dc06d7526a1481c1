/* SPDX-License-Identifier: Apache-2.0
 *
 * stoker: keeps a GPU fed with images. This header includes the whole public C API. */
#ifndef STOKER_STOKER_H
#define STOKER_STOKER_H

#include <stoker/cache.h>
#include <stoker/columns.h>
#include <stoker/convert.h>
#include <stoker/cpu.h>
#include <stoker/dataset.h>
#include <stoker/gather.h>
#include <stoker/gpu_upload.h>
#include <stoker/libraries.h>
#include <stoker/loader.h>
#include <stoker/merge.h>
#include <stoker/pack.h>
#include <stoker/repair.h>
#include <stoker/stage.h>
#include <stoker/status.h>
#include <stoker/transform.h>
#include <stoker/types.h>
#include <stoker/verify.h>
#include <stoker/version.h>
#include <stoker/writer.h>

#endif
