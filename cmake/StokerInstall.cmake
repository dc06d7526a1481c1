# SPDX-License-Identifier: Apache-2.0
# Install, export, pkg-config. tests/consumer builds against the result.
include(CMakePackageConfigHelpers)

install(TARGETS stoker EXPORT stokerTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY include/stoker DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES ${PROJECT_BINARY_DIR}/include/stoker/version.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/stoker)

# A static libstoker makes its users link what it needs; a shared one has that inside, and its users need not
# even have the packages. What it needs is itself linked shared, so it is named openly: pkg-config --static would
# ask for the static needs of all of them too. STOKER_PC_REQUIRES: "NAME|module>=version" of each dependency found.
set(STOKER_CONFIG_DEPENDENCIES "")
set(STOKER_PC_REQUIRES_STATIC "")
set(STOKER_PC_LIBS_STATIC "")
get_target_property(library_type stoker TYPE)
if(library_type STREQUAL "STATIC_LIBRARY")
  string(APPEND STOKER_CONFIG_DEPENDENCIES "include(CMakeFindDependencyMacro)\nfind_dependency(PkgConfig)\n"
         "find_dependency(Threads)\nfind_dependency(OpenMP COMPONENTS C)\n")
  foreach(row IN LISTS STOKER_PC_REQUIRES)
    string(REPLACE "|" ";" cells "${row}")
    list(GET cells 0 name)
    list(GET cells 1 module)
    string(APPEND STOKER_CONFIG_DEPENDENCIES "pkg_check_modules(STK_${name} REQUIRED IMPORTED_TARGET \"${module}\")\n")
    string(REPLACE ">=" " >= " module "${module}")
    list(APPEND STOKER_PC_REQUIRES_STATIC "${module}")
  endforeach()
  list(JOIN STOKER_PC_REQUIRES_STATIC ", " STOKER_PC_REQUIRES_STATIC)
  set(STOKER_PC_LIBS_STATIC "${OpenMP_C_FLAGS} -lpthread -lm")
  if(STOKER_HAVE_GIF)
    string(APPEND STOKER_PC_LIBS_STATIC " -lgif")
  endif()
endif()

# Not at the top of the build tree: find_package looks beside each bin/ of PATH and would take the unfinished one.
set(package ${PROJECT_BINARY_DIR}/package)
file(REMOVE ${PROJECT_BINARY_DIR}/stokerConfig.cmake ${PROJECT_BINARY_DIR}/stokerConfigVersion.cmake) # of older trees
set(cmakedir ${CMAKE_INSTALL_LIBDIR}/cmake/stoker)
install(EXPORT stokerTargets NAMESPACE stoker:: DESTINATION ${cmakedir})
configure_package_config_file(cmake/stokerConfig.cmake.in ${package}/stokerConfig.cmake
                              INSTALL_DESTINATION ${cmakedir})
# Below 1.0 a minor version may change the interface.
write_basic_package_version_file(${package}/stokerConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${package}/stokerConfig.cmake ${package}/stokerConfigVersion.cmake
        DESTINATION ${cmakedir})

# The .pc file finds its prefix from its own place, so an installed tree may be moved.
file(RELATIVE_PATH STOKER_PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/stoker.pc.in stoker.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/stoker.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(STOKER_TOOLS)
  # The command finds the library beside it, wherever the tree is put.
  file(RELATIVE_PATH bin_to_lib ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  set_target_properties(stoker_command PROPERTIES INSTALL_RPATH "$ORIGIN/${bin_to_lib}")
  install(TARGETS stoker_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(DIRECTORY docs/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 FILES_MATCHING PATTERN "*.1")
endif()
