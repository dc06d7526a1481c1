#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every test of stoker, with all of its own set-up. The same here and in CI.
# shellcheck disable=SC2317  # groups and tests are called by name
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
# shellcheck source=cmake/debian.sh
. cmake/debian.sh

usage() {
    cat <<'TEXT'
Usage: tests/run.sh [--no-install] [GROUP...]

Installs missing Debian packages (root or sudo), builds under build/, runs the test groups named, and ends
with one line of counts. Without names: all groups but slow and fuzz.

  style       the house's rules that a machine can check, shell scripts, man pages up to date
  unit        unit tests, golden and hostile files included (ctest)
  cli         command-line cases: exit code, stdout, stderr
  corpus      the command over the corpus of real files
  golden      the command over tests/golden: accept/ is read, reject/ is refused
  headers     each public header alone, C99 and C++11, gcc and clang
  symbols     the library exports stk_ only, and all that the headers declare
  consumer    outside projects against the installed library: find_package, pkg-config, shared and static
  clang       clang builds everything without a warning, and the unit tests pass
  asan        unit tests, command-line cases and Python's lifetimes under address and undefined-behaviour sanitizers
  tsan        tests with threads under ThreadSanitizer, with 2 and with 4 threads
  valgrind    the command and some unit tests under valgrind
  python      the wheel in bare environments; pixels against Pillow 13 and 12.3; the corpus
  docs        the site without warnings; what its pages show, the Python examples and the notebook (downloads torch)
  quickstart  ./quickstart from an empty build folder
  slow        tests that take minutes (by name only)
  fuzz        each fuzz target for STOKER_FUZZ_SECONDS (default 60) (by name only)

Environment: STOKER_CORPUS names the corpus of real files. With it, a test that skips for want of the corpus
counts as failed; without it such tests count as skipped.
TEXT
}

default_groups=(style unit cli corpus golden headers symbols consumer clang asan tsan valgrind python docs quickstart)
install=1
groups=()
while [ $# -gt 0 ]; do
    case "$1" in
    --no-install) install=0 ;;
    -h | --help)
        usage
        exit 0
        ;;
    -*)
        usage >&2
        exit 64
        ;;
    *)
        if ! printf '%s\n' "${default_groups[@]}" slow fuzz | grep -qx -- "$1"; then
            echo "no group '$1'; see tests/run.sh --help" >&2
            exit 64
        fi
        groups+=("$1")
        ;;
    esac
    shift
done
[ ${#groups[@]} -gt 0 ] || groups=("${default_groups[@]}")

if [ "$install" -eq 1 ] && ! stoker_install_packages "${stoker_build_packages[@]}" "${stoker_test_packages[@]}"; then
    echo "going on without; what needs them will fail" >&2
fi

jobs=$(nproc)
logs=build/test-logs
results=$logs/results.tsv # verdict, group, test; a tab between
rm -rf "$logs"
mkdir -p "$logs"
: >"$results"
group=

record() { printf '%s\t%s\t%s\n' "$1" "$group" "$2" >>"$results"; }

# run NAME COMMAND...: one test. Exit code 0 passed, 77 skipped, else failed, and its output is shown.
run() {
    local name=$1 log code=0
    log=$logs/$group-${name//[^A-Za-z0-9_.-]/_}.log
    shift
    "$@" >"$log" 2>&1 </dev/null || code=$?
    case $code in
    0) record passed "$name" ;;
    77)
        record skipped "$name"
        echo "  skipped $name: $(tail -n 1 "$log")"
        ;;
    *)
        record failed "$name"
        echo "  FAILED $name (exit code $code), the end of $log:"
        tail -n 60 "$log" | sed 's/^/    /'
        ;;
    esac
    return "$code"
}

# from_junit NAME FILE: the results in a JUnit file as tests of their own; no file is a failure.
from_junit() {
    python3 tests/support/junit_results.py "$group" "$1" "$2" >>"$results"
}

# build TREE OPTION...: configures and builds build/TREE; the test "build" of the group.
build() {
    local tree=build/$1 cache=()
    shift
    if command -v ccache >/dev/null; then
        cache=(-DCMAKE_C_COMPILER_LAUNCHER=ccache)
    fi
    run "build ${tree#build/}" build_tree "$tree" "${cache[@]}" "$@"
}
build_tree() {
    local tree=$1
    shift
    cmake -S . -B "$tree" -G Ninja -DSTOKER_WERROR=ON "$@" && cmake --build "$tree" -j "$jobs"
}

# The main tree, built once; several groups use it. Its pixel tests use the Pillow of build/venv.
main_built=
main_tree() {
    if [ -z "$main_built" ]; then
        run "Python environment" make_venv || true
        # Two architectures show whether the CUDA part compiles, the oldest that every nvcc knows and the newest that
        # has code of its own; all of them take minutes.
        if build main -DCMAKE_BUILD_TYPE=Release "-DSTOKER_CUDA_ARCHITECTURES=75;90" -DPython3_EXECUTABLE="$PWD/build/venv/bin/python"; then
            main_built=yes
        else
            main_built=no
        fi
    fi
    [ "$main_built" = yes ]
}
make_venv() {
    local want
    want=$(python3 --version; cat tests/python/requirements.txt)
    if [ "$(cat build/venv/stamp 2>/dev/null)" != "$want" ]; then
        rm -rf build/venv
        python3 -m venv build/venv &&
            build/venv/bin/pip install --quiet --disable-pip-version-check -r tests/python/requirements.txt &&
            printf '%s\n' "$want" >build/venv/stamp
    fi
}

# ctest_in TREE OPTION...: the tree's tests, each counted by itself.
ctest_in() {
    local tree=build/$1 name=${group}${2:+-}${2//[^A-Za-z0-9]/}
    local xml=$PWD/$logs/$name.xml
    shift
    ctest --test-dir "$tree" -j "$jobs" --output-junit "$xml" --output-on-failure "$@" >"$logs/$name.log" 2>&1
    from_junit "$name" "$xml"
}

cli_cases() {
    local xml=$logs/$group-cli.xml
    python3 tests/cli/run.py --stoker "$1/bin/stoker" --junit "$xml" >"$logs/$group-cli.log" 2>&1
    from_junit cli "$xml"
}

# --- groups

group_style() {
    run "rules" python3 tests/style/check_tree.py
    run "rules can fail" python3 tests/style/check_tree.py --self-test
    run "shellcheck" check_shell
    if main_tree; then
        run "man pages" tests/style/man_pages.sh --check build/main/bin/stoker
    fi
}
check_shell() {
    local scripts
    mapfile -t scripts < <(git ls-files -co --exclude-standard -- '*.sh' quickstart .ci/run)
    shellcheck -x "${scripts[@]}"
}

cuda_part() {
    if grep -q '^STOKER_NVCC_PROGRAM:.*NOTFOUND' build/main/CMakeCache.txt; then
        echo "no nvcc here: the CUDA part was not compiled"
        return 77
    fi
    nm -D --defined-only build/main/libstoker_cuda*.so | grep -q ' T stk_gpu_cuda_table$'
}

group_unit() {
    main_tree && { run "CUDA part" cuda_part || true; }
    main_tree && ctest_in main -LE slow
}

group_cli() {
    main_tree && cli_cases build/main
}

group_corpus() {
    main_tree || return
    local xml=$logs/corpus.xml
    python3 tests/corpus/command_corpus.py --stoker build/main/bin/stoker --scratch build/corpus --junit "$xml" \
        >"$logs/corpus.log" 2>&1
    from_junit corpus "$xml"
}

group_golden() {
    main_tree || return
    local file
    for file in tests/golden/accept/*; do
        # NAME.txt tells what the test of the format expects to find in NAME.
        [ "${file%.txt}" = "$file" ] || continue
        run "accept ${file##*/}" build/main/bin/stoker verify "$file"
    done
    for file in tests/golden/reject/*; do
        [ "${file%.txt}" = "$file" ] || continue
        run "reject ${file##*/}" refuses build/main/bin/stoker verify "$file"
    done
}
# Exit code 1 and a reason on stderr; a crash is neither.
refuses() {
    local code=0 said
    said=$("$@" 2>&1 >/dev/null) || code=$?
    printf '%s\nexit code %s\n' "$said" "$code"
    [ "$code" -eq 1 ] && [ -n "$said" ]
}

group_headers() {
    main_tree && run "each alone" tests/headers/check_headers.sh include build/main/include
}

group_symbols() {
    main_tree && run "stk_ only" tests/style/check_symbols.sh build/main/libstoker.so include/stoker/*.h \
        build/main/include/stoker/*.h
}

group_consumer() {
    main_tree || return
    run "shared" consumer_shared
    run "static" consumer_static
    run "moved" consumer_moved
    run "not from a build tree" consumer_build_tree
    run "the README's program" consumer_readme
}
# consumer_check TREE PREFIX: builds tests/consumer against PREFIX and runs it.
consumer_check() {
    local tree=$1 prefix=$2
    rm -rf "$tree"
    cmake -S tests/consumer -B "$tree" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" && cmake --build "$tree" || return 1
    consumer_runs "$tree/consumer_c" && "$tree/consumer_cxx"
}
# Packs the sample photos and compares what it prints: 80 records, 8 labels of each of 10 classes in order.
consumer_runs() {
    local want got
    want="80$(for c in 0 1 2 3 4 5 6 7 8 9; do printf " $c%.0s" 1 2 3 4 5 6 7 8; done)"
    rm -rf build/consumer.stk build/consumer.stk.*
    got=$("$1" examples/data/clothing build/consumer.stk) || return 1
    echo "$got"
    [ "$got" = "$want" ]
}
consumer_shared() {
    local prefix=$PWD/build/consumer-prefix lib
    rm -rf "$prefix"
    cmake --install build/main --prefix "$prefix" && consumer_check build/consumer "$prefix" || return 1
    lib=$(dirname "$(find "$prefix" -name stoker.pc)")
    # shellcheck disable=SC2046  # words are wanted
    PKG_CONFIG_PATH=$lib gcc -std=c99 tests/consumer/consumer.c -o build/consumer/by_pkg_config \
        $(PKG_CONFIG_PATH=$lib pkg-config --cflags --libs stoker) -Wl,-rpath,"${lib%/pkgconfig}" &&
        consumer_runs build/consumer/by_pkg_config && test -s "$prefix/share/man/man1/stoker-pack.1"
}
consumer_static() {
    local prefix=$PWD/build/consumer-static-prefix lib
    rm -rf "$prefix"
    build_tree build/static -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF -DSTOKER_TESTS=OFF -DSTOKER_CUDA=OFF \
        -DCMAKE_C_COMPILER_LAUNCHER="$(command -v ccache)" &&
        cmake --install build/static --prefix "$prefix" && consumer_check build/consumer-static "$prefix" || return 1
    lib=$(dirname "$(find "$prefix" -name stoker.pc)")
    # shellcheck disable=SC2046
    gcc -std=c99 tests/consumer/consumer.c -o build/consumer-static/by_pkg_config \
        $(PKG_CONFIG_PATH=$lib pkg-config --cflags --libs stoker) &&
        consumer_runs build/consumer-static/by_pkg_config
}
# An installed tree may be moved: the command finds its library, find_package and pkg-config their files.
consumer_moved() {
    rm -rf build/consumer-elsewhere
    cp -r build/consumer-prefix build/consumer-elsewhere &&
        mv build/consumer-prefix build/consumer-hidden || return 1
    build/consumer-elsewhere/bin/stoker --version && consumer_check build/consumer "$PWD/build/consumer-elsewhere"
    local code=$?
    mv build/consumer-hidden build/consumer-prefix
    return "$code"
}
# A build tree whose bin/ is on PATH is no installed stoker: find_package must not take its unfinished files.
consumer_build_tree() {
    rm -rf build/consumer-path
    PATH=$PWD/build/main/bin:$PATH cmake -S tests/consumer -B build/consumer-path -G Ninja
    ! grep "^stoker_DIR:.*=$PWD/build/main" build/consumer-path/CMakeCache.txt
}

# The C program in the README compiles and runs as it stands there.
consumer_readme() {
    local lib dir=build/consumer-readme
    rm -rf "$dir"
    mkdir -p "$dir"
    lib=$(dirname "$(find "$PWD/build/consumer-prefix" -name stoker.pc)")
    awk '/^```c$/ {on = 1; next} /^```$/ {on = 0} on' README.md >"$dir/read.c"
    # shellcheck disable=SC2046
    gcc -std=c99 -Wall -Wextra -Werror "$dir/read.c" -o "$dir/read" \
        $(PKG_CONFIG_PATH=$lib pkg-config --cflags --libs stoker) -Wl,-rpath,"${lib%/pkgconfig}" || return 1
    # Its batches hold 256 images.
    mkdir -p "$dir/photos"
    for n in 1 2 3 4; do cp -r examples/data/clothing "$dir/photos/$n"; done
    build/main/bin/stoker pack -q "$dir/photos" "$dir/train.stk" && (cd "$dir" && ./read) | tee "$dir/out" &&
        [ "$(cat "$dir/out")" = "256 images
64 images" ]
}

group_clang() {
    build clang -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER=clang -DSTOKER_CUDA=OFF &&
        ctest_in clang -L unit -LE slow
}

group_asan() {
    # gcc's instrumentation makes warnings of its own; the main and clang trees hold the code to none.
    local python=() exe
    if run "Python environment" tests/python/sanitized.sh python; then
        exe=$(tail -n 1 "$logs/asan-Python_environment.log")
        python=(-DSTOKER_PYTHON=ON "-DPython_EXECUTABLE=$exe")
    fi
    build asan -DCMAKE_BUILD_TYPE=RelWithDebInfo -DSTOKER_SANITIZE="address;undefined" -DSTOKER_CUDA=OFF \
        -DSTOKER_WERROR=OFF "${python[@]}" || return
    export UBSAN_OPTIONS=print_stacktrace=1
    ctest_in asan -L unit -LE slow
    cli_cases build/asan
    if [ ${#python[@]} -gt 0 ]; then
        local xml=$PWD/$logs/asan-python.xml
        tests/python/sanitized.sh test build/asan --junitxml="$xml" >"$logs/asan-python.log" 2>&1
        from_junit python "$xml"
    fi
}

group_tsan() {
    build tsan -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_C_COMPILER=clang -DSTOKER_SANITIZE=thread \
        -DSTOKER_CUDA=OFF || return
    local n archer
    archer=$(find /usr/lib/llvm-*/lib -name libarcher.so 2>/dev/null | sort -V | tail -n 1)
    if [ -z "$archer" ]; then
        echo "  no libarcher.so: without it ThreadSanitizer does not know OpenMP's synchronisation"
        record failed "Archer"
        return
    fi
    export OMP_TOOL_LIBRARIES=$archer
    export TSAN_OPTIONS="suppressions=$PWD/tests/support/tsan.supp ignore_noninstrumented_modules=1 exitcode=66"
    for n in 2 4; do
        # Those of the kernels are as many as a block has, whatever OpenMP is told: once is enough.
        STOKER_TEST_THREADS=$n OMP_NUM_THREADS=$n ctest_in tsan -L unit -LE slow -R "$threaded_tests" \
            -E "corpus$([ "$n" = 2 ] || echo '|test_gpu_kernels')"
        run "command, $n threads" command_tour build/tsan/bin "$n"
    done
    unset OMP_TOOL_LIBRARIES TSAN_OPTIONS
}
# Tests in which threads of ours meet; the corpus adds time here, not threads.
threaded_tests='test_gpu|loader|pack|team|verify|dataset|schedule|slot|queue|progress|writer|cache|reader'

# command_tour BIN THREADS: pack, verify, load and extract the sample photos.
command_tour() {
    local bin=$1 n=$2 out
    out=$(mktemp -d)
    "$bin/stoker" pack -q -j "$n" examples/data/clothing "$out/x.stk" &&
        "$bin/stoker" pack -q -j "$n" --encode keep --resize short=64 examples/data/clothing "$out/y.stk" &&
        "$bin/stoker" verify --deep -j "$n" "$out/x.stk" &&
        "$bin/stoker" bench --seconds 1 --threads "$n" --batch 16 --size 64 "$out/x.stk" &&
        "$bin/stoker" bench --seconds 1 --threads "$n" --batch 16 --order page --io pread --size 64 "$out/y.stk" &&
        "$bin/stoker" extract "$out/x.stk" "$out/files" && "$bin/stoker" info --json "$out/y.stk"
    local code=$?
    rm -rf "$out"
    return "$code"
}

group_valgrind() {
    main_tree || return
    run "pack" under_valgrind pack -q -j 2 tests/cli/files build/valgrind.stk --force
    run "info" under_valgrind info --json build/valgrind.stk
    run "ls" under_valgrind ls --json build/valgrind.stk
    run "verify" under_valgrind verify --deep -j 2 build/valgrind.stk
    run "bench" under_valgrind bench --seconds 0.5 -j 2 --batch 4 --size 32 build/valgrind.stk
    run "extract" under_valgrind extract --force build/valgrind.stk build/valgrind-files
}
# Exit code 2 of the command (files skipped) is fine here; 99 is valgrind's own.
under_valgrind() {
    local code=0
    valgrind --quiet --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite \
        --suppressions=tests/support/valgrind.supp build/main/bin/stoker "$@" || code=$?
    [ "$code" -eq 0 ] || [ "$code" -eq 2 ]
}

group_python() {
    STOKER_JUNIT_DIR=$PWD/$logs tests/python/run.sh >"$logs/python.log" 2>&1
    local code=$?
    if [ "$code" -ne 0 ] && ! compgen -G "$logs/python*.xml" >/dev/null; then
        record failed "wheel and environments"
        tail -n 40 "$logs/python.log" | sed 's/^/    /'
        return
    fi
    record passed "wheel and environments"
    local name
    for name in python-pillow13 python-pillow12; do
        from_junit "$name" "$logs/$name.xml"
    done
}

group_docs() {
    STOKER_JUNIT_DIR=$PWD/$logs tests/docs/run.sh >"$logs/docs.log" 2>&1
    local code=$?
    if [ "$code" -ne 0 ] && [ ! -e "$logs/docs.xml" ]; then
        record failed "wheel and environment"
        tail -n 40 "$logs/docs.log" | sed 's/^/    /'
        return
    fi
    record passed "wheel and environment"
    from_junit docs "$logs/docs.xml"
}

group_quickstart() {
    rm -rf build/quickstart
    run "from an empty build folder" ./quickstart --seconds 1 &&
        run "contact sheet" is_png build/quickstart/out/contact_sheet.png
    run "--deps" deps_name_python
}
# On a machine that has no package yet, --deps asks for those of the Python module, unless another Python than Debian's is
# in use; apt-get only writes down what it is asked for.
deps_name_python() {
    local fake=$PWD/build/quickstart-deps
    rm -rf "$fake" && mkdir -p "$fake/conda"
    printf '#!/bin/sh\nexit 1\n' >"$fake/dpkg-query"
    printf '#!/bin/sh\necho "$@" >>"%s/asked"\n' "$fake" >"$fake/apt-get"
    # shellcheck disable=SC2016
    printf '#!/bin/sh\nexec "$@"\n' >"$fake/sudo"
    printf '#!/bin/sh\n' >"$fake/conda/python3"
    chmod +x "$fake"/dpkg-query "$fake"/apt-get "$fake"/sudo "$fake"/conda/python3
    PATH=$fake:/usr/bin:/bin ./quickstart --deps && grep -q ' gcc .* python3 python3-venv python3-dev$' "$fake/asked" || return 1
    rm "$fake/asked"
    PATH=$fake/conda:$fake:/usr/bin:/bin ./quickstart --deps && grep -q ' gcc ' "$fake/asked" && ! grep -q python3 "$fake/asked"
}
is_png() { [ "$(head -c 8 "$1" | od -An -tx1 | tr -d ' \n')" = 89504e470d0a1a0a ]; }

group_slow() {
    main_tree && ctest_in main -L slow
    # Loaders stopped and resumed in 10,000 random ways; a small share of them runs with every test of Python.
    run "10,000 ways to stop and resume" env STOKER_HYPOTHESIS_EXAMPLES=10000 \
        tests/python/run.sh -k any_sequence_of_stops || true
    # What is wrong there shows once in hundreds of runs.
    run "exit in the midst of everything, 100 times" env STOKER_EXIT_RUNS=100 \
        tests/python/run.sh -k "clean_exit or in_the_midst" || true
}

group_fuzz() {
    local target name seeds seconds=${STOKER_FUZZ_SECONDS:-60} any=
    build fuzz -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_C_COMPILER=clang -DSTOKER_FUZZ=ON \
        -DSTOKER_SANITIZE="address;undefined" -DSTOKER_CUDA=OFF || return
    for target in build/fuzz/bin/fuzz_*; do
        [ -x "$target" ] || continue
        any=yes
        name=${target##*/}
        seeds=(tests/golden)
        [ ! -d "tests/fuzz/corpus/${name#fuzz_}" ] || seeds+=("tests/fuzz/corpus/${name#fuzz_}")
        mkdir -p "build/fuzz-corpus/$name"
        run "$name" "$target" -max_total_time="$seconds" -print_final_stats=1 "build/fuzz-corpus/$name" "${seeds[@]}"
    done
    [ -n "$any" ] || record failed "no fuzz targets found"
}

# --- all of it

count() { grep -c "^$1	" "$results"; }

# A function, so that the shell has read all of this file before it begins: it may be edited meanwhile.
all() {
    local start=$SECONDS group_start before failed
    for group in "${groups[@]}"; do
        echo "== $group"
        group_start=$SECONDS
        before=$(wc -l <"$results")
        "group_$group"
        [ "$(wc -l <"$results")" -gt "$before" ] || record failed "no test ran"
        tail -n +$((before + 1)) "$results" | awk -F '\t' -v s=$((SECONDS - group_start)) '
            {n[$1]++}
            END {printf "   %d passed, %d failed, %d skipped (%d s)\n", n["passed"], n["failed"], n["skipped"], s}'
    done
    failed=$(count failed)
    echo
    echo "took $((SECONDS - start)) s; logs are in $logs"
    if [ "$failed" -gt 0 ]; then
        awk -F '\t' '$1 == "failed" {print "failed: " $2 ": " $3}' "$results"
    fi
    echo "$(count passed) passed, $failed failed, $(count skipped) skipped"
    [ "$failed" -eq 0 ]
}
{ all; exit; }
