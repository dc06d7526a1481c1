/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli_value.h"
#include "commands.h"

const char *parse_value_range(void *target, const char *value)
{
    stk_dataset_options *dataset = target;
    char first[40];
    const char *colon = strchr(value, ':');
    if (colon == NULL || (size_t)(colon - value) >= sizeof first) return "is not MIN:MAX";
    memcpy(first, value, (size_t)(colon - value));
    first[colon - value] = '\0';
    if (!cli_to_real(first, &dataset->range_min) || !cli_to_real(colon + 1, &dataset->range_max) ||
        !(dataset->range_min < dataset->range_max))
        return "is not MIN:MAX, two numbers, the smaller one first";
    return NULL;
}
