# SPDX-License-Identifier: Apache-2.0
# Third-party libraries: each behind one file of ours, versions checked here.
# Collects STOKER_LIBRARIES and, for the summary, STOKER_FEATURES ("name|state|detail").
set(STOKER_LIBRARIES "")
set(STOKER_FEATURES "")
set(STOKER_PC_REQUIRES "")

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS C)
find_library(STOKER_LIBM m)
list(APPEND STOKER_LIBRARIES Threads::Threads OpenMP::OpenMP_C)
if(STOKER_LIBM)
  list(APPEND STOKER_LIBRARIES ${STOKER_LIBM})
endif()
list(APPEND STOKER_FEATURES "OpenMP|yes|${OpenMP_C_VERSION}")

set(STOKER_WITHOUT "" CACHE STRING "Optional libraries to leave out though they are here: DEFLATE;LZF;WEBP ...")

# stoker_dependency(NAME pkg-config-module>=version REQUIRED|OPTIONAL "what for" "Debian package")
macro(stoker_dependency name module need what package)
  set(STK_${name}_FOUND 0)
  if("${need}" STREQUAL "REQUIRED" OR NOT ${name} IN_LIST STOKER_WITHOUT)
    pkg_check_modules(STK_${name} IMPORTED_TARGET ${module})
  endif()
  if(STK_${name}_FOUND)
    set(STOKER_HAVE_${name} 1)
    list(APPEND STOKER_LIBRARIES PkgConfig::STK_${name})
    list(APPEND STOKER_PC_REQUIRES "${name}|${module}")
    list(APPEND STOKER_FEATURES "${name}|yes|${STK_${name}_VERSION} (${what})")
  elseif("${need}" STREQUAL "REQUIRED")
    message(FATAL_ERROR "stoker needs ${module} (${what}). On Debian or Ubuntu: apt-get install ${package}")
  else()
    set(STOKER_HAVE_${name} 0)
    list(APPEND STOKER_FEATURES "${name}|no|${what}: apt-get install ${package}")
  endif()
endmacro()

# libjpeg-turbo: 2.1.4 is the first without the crop/skip bugs that docs/pixels.md lists (#574, #611).
stoker_dependency(JPEG "libjpeg>=2.1.4" REQUIRED "JPEG" libjpeg62-turbo-dev)
stoker_dependency(PNG "libpng>=1.6.37" REQUIRED "PNG" libpng-dev)
stoker_dependency(ZLIB "zlib>=1.2.9" REQUIRED "PNG checksums, gzip-filtered HDF5 without libdeflate" zlib1g-dev)
stoker_dependency(XXHASH "libxxhash>=0.8.0" REQUIRED "checksums" libxxhash-dev)
stoker_dependency(JANSSON "jansson>=2.13" REQUIRED "JSON" libjansson-dev)
stoker_dependency(WEBP "libwebp>=1.2.1" OPTIONAL "WebP" libwebp-dev)
# libtiff 4.5 is the first whose error handlers belong to a handle and not to the process.
stoker_dependency(TIFF "libtiff-4>=4.5.0" OPTIONAL "TIFF" libtiff-dev)

# The preprocessing cache (packer/cache_lmdb.c).
stoker_dependency(ARCHIVE "libarchive>=3.4" OPTIONAL "tars as sources, export --to tar" libarchive-dev)
stoker_dependency(LMDB "lmdb>=0.9.22" OPTIONAL "pack --cache" liblmdb-dev)

# HDF5 data sets (format/hdf5/). 1.10.3 brought H5Dread_chunk and H5Dwrite_chunk. Without
# libdeflate zlib inflates the chunks, at half the speed or two thirds.
stoker_dependency(HDF5 "hdf5>=1.10.3" OPTIONAL "HDF5 data sets" libhdf5-dev)
stoker_dependency(DEFLATE "libdeflate>=1.8" OPTIONAL "gzip-filtered HDF5, fast" libdeflate-dev)
stoker_dependency(LZF "liblzf" OPTIONAL "LZF-filtered HDF5" liblzf-dev)

# giflib has no pkg-config file in Debian.
find_path(GIF_INCLUDE gif_lib.h)
find_library(GIF_LIBRARY gif)
if(GIF_INCLUDE AND GIF_LIBRARY)
  set(STOKER_HAVE_GIF 1)
  list(APPEND STOKER_LIBRARIES ${GIF_LIBRARY})
  list(APPEND STOKER_FEATURES "GIF|yes|giflib")
else()
  set(STOKER_HAVE_GIF 0)
  list(APPEND STOKER_FEATURES "GIF|no|GIF: apt-get install libgif-dev")
endif()

# CUDA: only a compiler is needed; the CUDA part is loaded on demand at run time.
option(STOKER_CUDA "Build the CUDA part where an nvcc is" ON)
set(STOKER_CUDA_ARCHITECTURES "" CACHE STRING "Architectures of the CUDA part (90, say); empty = all that nvcc knows")
set(STOKER_NVCC "")
if(STOKER_CUDA)
  find_program(STOKER_NVCC_PROGRAM nvcc HINTS /usr/local/cuda/bin)
  if(STOKER_NVCC_PROGRAM)
    set(STOKER_NVCC ${STOKER_NVCC_PROGRAM})
  endif()
endif()
if(STOKER_NVCC)
  list(APPEND STOKER_FEATURES "CUDA|yes|${STOKER_NVCC}")
else()
  list(APPEND STOKER_FEATURES "CUDA|no|GPU decoding: install nvcc (nvidia-cuda-toolkit), or use a wheel")
endif()
list(APPEND STOKER_LIBRARIES ${CMAKE_DL_LIBS})

configure_file(cmake/features.h.in include/internal/stoker_features.h @ONLY)

# A folder of ours as an object library. stoker_component(name sources...)
function(stoker_component name)
  add_library(stk_${name} OBJECT ${ARGN})
  target_include_directories(stk_${name} PRIVATE
    ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include
    ${PROJECT_BINARY_DIR}/include/internal)
  target_link_libraries(stk_${name} PRIVATE stoker_flags ${STOKER_LIBRARIES})
endfunction()
