# Language, flags and tools shared by every target.
#
# Equal inputs must give equal outputs on every processor: no contraction of a*b+c into a fused
# operation, no -march=native, no fast-math, here or in any folder.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# Every program in one place: build/bin/orrery, build/bin/test_*, build/bin/fuzz_*.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type." FORCE)
endif()

# Line tables cost a twentieth of each compilation: they are the debug preset's, a stack trace here
# has the names of functions. invariant() does not depend on NDEBUG: it is on in every build.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-Og -g -D_GLIBCXX_ASSERTIONS")
if(ORRERY_SANITIZE)
  # A sanitizer's report wants lines; the suite under it has time limits, which -Og does not keep.
  set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1 -D_GLIBCXX_ASSERTIONS")
endif()

set(ORRERY_COMPILE_OPTIONS
  -ffp-contract=off -fno-omit-frame-pointer
  # __FILE__ from the repository root: the same object, and the same message, from every checkout.
  -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=
  -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
  # Options structs are filled by name; the fields left out have their defaults.
  -Wno-missing-field-initializers
  # A forgotten enumerator or return value is an error in every configuration.
  -Werror=switch -Werror=return-type)
# nvcc knows none of them.
add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:${ORRERY_COMPILE_OPTIONS}>")

# GCC collects garbage from 128 MiB on: a tenth or more of the time of large units. sim/run takes 1.0 GiB without, 0.8 with it.
add_compile_options("$<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=4194304>")

if(ORRERY_SANITIZE)
  add_compile_options(-fsanitize=${ORRERY_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${ORRERY_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Between a sanitizer's checks it takes what the standard library does not read, for example in
    # std::regex, for read uninitialised. Builds without a sanitizer have the warning.
    add_compile_options(-Wno-maybe-uninitialized)
  endif()
  if(ORRERY_SANITIZE MATCHES thread AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Headers of Boost.Asio and SimGrid have fences, which the compiler says it cannot follow. Locks
    # order what they order.
    add_compile_options(-Wno-tsan)
  endif()
endif()

if(ORRERY_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "ORRERY_FUZZ: the compiler is ${CMAKE_CXX_COMPILER_ID}, libFuzzer needs "
                        "clang; configure with --preset fuzz")
  endif()
  # What a library does is not put into functions of ours either, or its edges would be counted as ours.
  # The list's hash stands in the command, or neither ninja nor ccache would see that it changed.
  set(fuzz_coverage ${PROJECT_SOURCE_DIR}/tools/cmake/fuzz_coverage.txt)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${fuzz_coverage})
  file(SHA256 ${fuzz_coverage} fuzz_coverage_hash)
  # Edges are to be those of what was written: optimisation beyond the first level copies a loop's body for
  # its first and its last rounds, and checks of dynamic types look into a small cache first, where what
  # misses it depends on where the program was loaded. Tests under sanitizers have these checks.
  add_compile_options(-O1 -fno-inline -gline-tables-only
                      -fsanitize=fuzzer-no-link -fno-sanitize=vptr
                      -fsanitize-coverage-ignorelist=${fuzz_coverage}
                      -DORRERY_FUZZ_COVERAGE=${fuzz_coverage_hash})
endif()

find_program(ORRERY_CCACHE ccache)
if(ORRERY_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  # What is compiled with a precompiled header is cached only where the macros are said to matter
  # no further than that header itself.
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros ${ORRERY_CCACHE})
endif()
