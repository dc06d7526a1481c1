# SPDX-License-Identifier: Apache-2.0
# One INTERFACE target that every target of ours links: warnings, floating-point rules, sanitizers.
include(CheckCCompilerFlag)

add_library(stoker_flags INTERFACE)
target_compile_definitions(stoker_flags INTERFACE _GNU_SOURCE)

# Pixels must not depend on whether the compiler fuses a*b+c (design: nothing depends on its last bit).
target_compile_options(stoker_flags INTERFACE -ffp-contract=off -fno-strict-aliasing)

foreach(flag -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wstrict-prototypes
        -Wmissing-prototypes -Wpointer-arith -Wwrite-strings -Wvla -Wundef)
  string(MAKE_C_IDENTIFIER "STOKER_C${flag}" have)
  check_c_compiler_flag(${flag} ${have})
  if(${have})
    target_compile_options(stoker_flags INTERFACE ${flag})
  endif()
endforeach()
option(STOKER_WERROR "Warnings are errors" OFF)
if(STOKER_WERROR)
  target_compile_options(stoker_flags INTERFACE -Werror)
endif()

if(STOKER_SANITIZE)
  string(REPLACE ";" "," sanitize "${STOKER_SANITIZE}")
  target_compile_options(stoker_flags INTERFACE -fsanitize=${sanitize} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all)
  target_link_options(stoker_flags INTERFACE -fsanitize=${sanitize})
endif()
option(STOKER_COVERAGE "Instrument for coverage" OFF)
if(STOKER_COVERAGE)
  target_compile_options(stoker_flags INTERFACE --coverage -fprofile-update=atomic)
  target_link_options(stoker_flags INTERFACE --coverage)
endif()
if(STOKER_FUZZ)
  # Coverage feedback in the library; the targets themselves link libFuzzer's main.
  target_compile_options(stoker_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
