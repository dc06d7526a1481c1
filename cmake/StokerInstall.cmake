# SPDX-License-Identifier: Apache-2.0
# Install, export, pkg-config.
install(TARGETS stoker EXPORT stokerTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
