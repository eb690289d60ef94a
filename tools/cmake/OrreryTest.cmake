# Tests, fuzz targets and benchmarks.
#
#   orrery_test(NAME SOURCES a_test.cpp ... [ALONE a_test.cpp ...] [LINK target ...]
#               [LABELS unit|property|scenario|gpu ...] [TIMEOUT seconds] [COST seconds]
#               [SLOW] [PARTS count] [OPTIMISED])
#
# makes the program `test_NAME` and registers it with ctest as NAME. Sources are relative to the
# calling folder; those named ALONE are not compiled together with others. Without LABELS the label
# is `unit`; the time limit is 300 s. A case that needs what is not here calls GTEST_SKIP with the
# reason. What is not SLOW and takes no world has the label `fast` as well: the loop of a minute.
#
# With PARTS each case has a process of its own, since SimGrid allows one engine per process: a fork of
# one that has started (tests/support/each_alone.cpp). There are so many tests of ctest, NAME, NAME.1, ...,
# which share the cases. Everything else shares one process, since starting thousands of them costs
# more than the cases. With OPTIMISED the tests themselves are compiled as what they test is.
#
#   orrery_python_test(NAME SCRIPT [argument ...] [TIMEOUT seconds] [COST seconds] [PROCESSORS count]
#                      [LABEL label] [MAY_SKIP] [OWN_NETWORK])
#
# registers a script of the calling folder as NAME, with label unit. Arguments may be generator
# expressions such as $<TARGET_FILE:orrery-node>. MAY_SKIP: with exit code 77 it says that something
# is not here that it needs. OWN_NETWORK: it counts starts, and a worker whose port another test holds would
# be started anew; so it gets a network namespace, or runs alone where none can be made. COST: about how
# long it takes, where that is long, so that it begins early and nothing waits for it at the end.
# PROCESSORS: as many tests as it counts for, where it is in a hurry and others would hold it up.
#
#   orrery_fuzzer(NAME SOURCES a_fuzz.cpp ... [MUTATOR b.cpp ...] [LINK target ...])
#
# makes `fuzz_NAME`, only under ORRERY_FUZZ; tools/soak runs every fuzz_*. MUTATOR changes inputs in
# place of libFuzzer. After all of them
#
#   orrery_fuzz_seeds(NAME SOURCES a_test.cpp ...)
#
# makes an orrery_test of all targets of the folder in one program, where the function of `fuzz_NAME`
# is called orrery_fuzz_NAME. ORRERY_FUZZ_TARGETS is X(NAME) of each.
#
#   orrery_scenarios(NAME check|test a.yaml ...)
#
# registers the files, relative to the calling folder, as the test scenarios.NAME: `orrery test` runs
# them and judges their expectations, `orrery check` only validates what is too long or wants data
# from outside.
#
#   orrery_benchmark(NAME SOURCES a_bench.cpp ... [LINK target ...])
#
# makes `bench_NAME`, only where Google Benchmark is installed.

include(GoogleTest)
if(ORRERY_FUZZ)
  add_custom_target(fuzzers COMMENT "Every fuzz target")
endif()

set(ORRERY_LABELS unit property scenario gpu)
# Tests run in the repository root. Its path is not compiled in: it never enters expected output,
# and the compiler's cache serves every checkout.
set(ORRERY_ROOT_DEFINITION ORRERY_SOURCE_ROOT=".")
# What is tested is optimised, what tests it is compiled fast: that is half of a test's compile time.
set(ORRERY_TEST_OPTIONS $<$<CONFIG:RelWithDebInfo>:-O0>)
if(ORRERY_SANITIZE)
  set(ORRERY_TEST_OPTIONS -O0)
endif()

# Sets `variable` to the time limit `seconds`, or to 300 s where that is empty. Under a sanitizer
# programs take several times as long.
function(orrery_time_limit variable seconds)
  if(NOT seconds)
    set(seconds 300)
  endif()
  if(ORRERY_SANITIZE)
    math(EXPR seconds "${seconds} * 4")
  endif()
  set(${variable} ${seconds} PARENT_SCOPE)
endfunction()

# GoogleTest and what it includes, read once: two thirds of what a small test takes to compile.
# tools/checks/standalone.py compiles without it and so finds a missing include.
if(ORRERY_TESTS)
  add_library(orrery_test_headers OBJECT ${CMAKE_CURRENT_LIST_DIR}/no_code.cpp)
  target_compile_options(orrery_test_headers PRIVATE ${ORRERY_TEST_OPTIONS})
  target_compile_definitions(orrery_test_headers PRIVATE ${ORRERY_ROOT_DEFINITION})
  target_link_libraries(orrery_test_headers PRIVATE GTest::gmock)
  target_precompile_headers(orrery_test_headers PRIVATE
    <gmock/gmock.h> <gtest/gtest.h> <algorithm> <chrono> <filesystem> <fstream> <functional> <map>
    <memory> <mutex> <optional> <random> <set> <span> <sstream> <string> <thread> <unordered_map>
    <variant> <vector>)
endif()

# Whether this user may make network namespaces: tests that count on ports of theirs get one each then.
if(ORRERY_TESTS AND NOT DEFINED ORRERY_OWN_NETWORKS)
  execute_process(
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/support/own_network.py
    RESULT_VARIABLE refused OUTPUT_QUIET ERROR_QUIET)
  if(refused)
    message(STATUS "Tests that count on ports of theirs run one at a time: no network namespaces here")
  endif()
  set(own_networks TRUE)
  if(refused)
    set(own_networks FALSE)
  endif()
  set(ORRERY_OWN_NETWORKS ${own_networks} CACHE INTERNAL "Network namespaces can be made.")
endif()

function(orrery_python_test name script)
  cmake_parse_arguments(PARSE_ARGV 2 arg "MAY_SKIP;OWN_NETWORK" "TIMEOUT;COST;PROCESSORS;LABEL" "")
  orrery_time_limit(arg_TIMEOUT "${arg_TIMEOUT}")
  if(NOT arg_LABEL)
    set(arg_LABEL unit)
  endif()
  set(program ${CMAKE_CURRENT_SOURCE_DIR}/${script})
  if(arg_OWN_NETWORK AND ORRERY_OWN_NETWORKS)
    list(PREPEND program ${PROJECT_SOURCE_DIR}/tests/support/own_network.py)
  endif()
  add_test(NAME ${name}
    COMMAND ${Python3_EXECUTABLE} ${program} ${arg_UNPARSED_ARGUMENTS})
  set_tests_properties(${name} PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT})
  if(arg_COST)
    set_tests_properties(${name} PROPERTIES COST ${arg_COST})
  endif()
  if(arg_PROCESSORS)
    set_tests_properties(${name} PROPERTIES PROCESSORS ${arg_PROCESSORS})
  endif()
  if(arg_OWN_NETWORK AND NOT ORRERY_OWN_NETWORKS)
    set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
  endif()
  if(arg_MAY_SKIP)
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
  endif()
endfunction()

# Tests give memory back and ask for it again all the time. What the system takes part in each time
# costs a storm a third of its time, so it is kept.
set(ORRERY_KEEPS_MEMORY MALLOC_TRIM_THRESHOLD_=536870912 MALLOC_TOP_PAD_=16777216 MALLOC_MMAP_THRESHOLD_=33554432)

# Sets `variable` to the libraries of the project that are linked where `libraries` are, in no order.
function(orrery_own_libraries variable libraries)
  set(found)
  while(libraries)
    list(POP_FRONT libraries each)
    string(REGEX REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1" each "${each}")
    if(NOT TARGET ${each})
      continue()
    endif()
    get_target_property(original ${each} ALIASED_TARGET)
    if(original)
      set(each ${original})
    endif()
    get_target_property(type ${each} TYPE)
    get_target_property(is_imported ${each} IMPORTED)
    if(is_imported OR each IN_LIST seen)
      continue()
    endif()
    list(APPEND seen ${each})
    if(type STREQUAL STATIC_LIBRARY)
      list(APPEND found ${each})
    endif()
    get_target_property(further ${each} INTERFACE_LINK_LIBRARIES)
    if(further)
      list(APPEND libraries ${further})
    endif()
  endwhile()
  set(${variable} ${found} PARENT_SCOPE)
endfunction()

# Of an inline function that both a test and a library compile, the linker keeps the copy of the file that it
# reads first. Tests would come first, without optimisation, and what is tested would run with their copies.
function(orrery_libraries_first target libraries)
  orrery_own_libraries(own "${libraries}")
  set(files)
  foreach(each ${own})
    list(APPEND files $<TARGET_FILE:${each}>)
  endforeach()
  if(files)
    target_link_options(${target} PRIVATE LINKER:--whole-archive ${files} LINKER:--no-whole-archive)
  endif()
endfunction()

function(orrery_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "OPTIMISED;SLOW" "TIMEOUT;COST;PARTS" "SOURCES;ALONE;LINK;LABELS")
  orrery_reject_leftovers("orrery_test(${name})" "${arg_UNPARSED_ARGUMENTS}")
  if(NOT ORRERY_TESTS)
    return()
  endif()
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  foreach(label ${arg_LABELS})
    if(NOT label IN_LIST ORRERY_LABELS)
      message(FATAL_ERROR "orrery_test(${name}): label ${label} is none of ${ORRERY_LABELS}")
    endif()
  endforeach()
  if(NOT arg_SLOW AND NOT "scenario" IN_LIST arg_LABELS)
    list(APPEND arg_LABELS fast)
  endif()
  orrery_time_limit(arg_TIMEOUT "${arg_TIMEOUT}")
  add_executable(test_${name} ${arg_SOURCES})
  orrery_unity(test_${name} EXCEPT ${arg_ALONE})
  if(NOT arg_OPTIMISED)
    target_compile_options(test_${name} PRIVATE ${ORRERY_TEST_OPTIONS})
    target_precompile_headers(test_${name} REUSE_FROM orrery_test_headers)
    orrery_libraries_first(test_${name} "${arg_LINK}")
  endif()
  target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(test_${name} PRIVATE ${ORRERY_ROOT_DEFINITION})
  if(arg_PARTS)
    target_link_libraries(test_${name} PRIVATE ${arg_LINK} orrery_each_alone)
    math(EXPR last "${arg_PARTS} - 1")
  else()
    target_link_libraries(test_${name} PRIVATE ${arg_LINK} GTest::gmock GTest::gtest_main)
    set(last 0)
  endif()
  foreach(part RANGE ${last})
    set(test ${name})
    if(part GREATER 0)
      set(test ${name}.${part})
    endif()
    set(options --gtest_brief=1)
    if(arg_PARTS)
      list(APPEND options --part ${part}/${arg_PARTS})
    endif()
    add_test(NAME ${test} COMMAND test_${name} ${options} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(${test} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT}
                         ENVIRONMENT "${ORRERY_KEEPS_MEMORY}")
    if(arg_COST)
      set_tests_properties(${test} PROPERTIES COST ${arg_COST})
    endif()
  endforeach()
endfunction()

function(orrery_fuzzer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;MUTATOR;LINK")
  orrery_reject_leftovers("orrery_fuzzer(${name})" "${arg_UNPARSED_ARGUMENTS}")
  set_property(DIRECTORY APPEND PROPERTY ORRERY_FUZZ_NAMES ${name})
  set_property(DIRECTORY APPEND PROPERTY ORRERY_FUZZ_SOURCES ${arg_SOURCES})
  set_property(DIRECTORY APPEND PROPERTY ORRERY_FUZZ_LINK ${arg_LINK})
  if(NOT ORRERY_FUZZ)
    return()
  endif()
  add_executable(fuzz_${name} ${arg_SOURCES} ${arg_MUTATOR} ${ORRERY_FUZZ_EACH})
  target_include_directories(fuzz_${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(fuzz_${name} PRIVATE ${arg_LINK})
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  add_dependencies(fuzzers fuzz_${name})
endfunction()

function(orrery_fuzz_seeds name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES")
  orrery_reject_leftovers("orrery_fuzz_seeds(${name})" "${arg_UNPARSED_ARGUMENTS}")
  if(ORRERY_FUZZ)
    return()
  endif()
  get_property(names DIRECTORY PROPERTY ORRERY_FUZZ_NAMES)
  get_property(sources DIRECTORY PROPERTY ORRERY_FUZZ_SOURCES)
  get_property(link DIRECTORY PROPERTY ORRERY_FUZZ_LINK)
  list(REMOVE_DUPLICATES link)
  list(REMOVE_DUPLICATES sources)
  # Each alone: they all define the same function, and names of their own beside it.
  set(alone ${sources})
  list(TRANSFORM alone REPLACE ".*/" "")
  orrery_test(${name} SOURCES ${arg_SOURCES} ${sources} ALONE ${alone} LINK ${link})
  foreach(target ${names})
    set_source_files_properties(${target}_fuzz.cpp PROPERTIES
      COMPILE_DEFINITIONS LLVMFuzzerTestOneInput=orrery_fuzz_${target})
  endforeach()
  list(TRANSFORM names REPLACE "(.+)" "X(\\1)")
  list(JOIN names " " names)
  set_source_files_properties(${arg_SOURCES} PROPERTIES
    COMPILE_DEFINITIONS "ORRERY_FUZZ_TARGETS=${names}")
endfunction()

function(orrery_scenarios name verb)
  if(NOT ORRERY_TESTS)
    return()
  endif()
  set(paths ${ARGN})
  list(TRANSFORM paths PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  set(files)
  foreach(path ${paths})
    cmake_path(RELATIVE_PATH path BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    list(APPEND files ${path})
  endforeach()
  add_test(NAME scenarios.${name} COMMAND orrery ${verb} ${files}
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(scenarios.${name} PROPERTIES LABELS scenario TIMEOUT 600)
endfunction()

function(orrery_benchmark name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
  orrery_reject_leftovers("orrery_benchmark(${name})" "${arg_UNPARSED_ARGUMENTS}")
  if(NOT ORRERY_BENCH OR NOT benchmark_FOUND)
    return()
  endif()
  add_executable(bench_${name} ${arg_SOURCES})
  target_include_directories(bench_${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(bench_${name} PRIVATE ${arg_LINK} benchmark::benchmark)
endfunction()
