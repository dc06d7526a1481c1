/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STK_PACKER_CACHE_PLACE_H
#define STK_PACKER_CACHE_PLACE_H

/* The name of the network file system that the folder lies on ("nfs"), or NULL: on a disk of this machine, as
 * far as the system tells. Shared memory maps and locks do not work between machines. */
const char *stk_network_disk(const char *folder);

#endif
