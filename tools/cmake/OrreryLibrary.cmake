# The target rule: every folder declares its library here, and what it may link.
#
#   orrery_library(NAME
#     [HEADERS a.hpp ...] [SOURCES a.cpp ...]   relative to the calling folder
#     [MAY_LINK target ...]                     all that the library may link, and nothing else
#     [ALONE a.cpp ...]                         sources not compiled together with others, since
#                                               they use the same names for their own things
#     [NO_EXCEPTIONS]                           compile with -fno-exceptions
#     [COLD]                                    nothing waits for it: -O1 in the release preset,
#                                               which compiles a fifth faster than -O2
#     [MODULE_PART])                            a module that programs load is made of it
#
# makes `orrery_NAME`, alias `orrery::NAME`: a static library, or an interface library where there
# are no sources. Includes are written from the repository root. Two locks come with it:
#
#   header check   each header compiles alone (target check_headers; the test standalone draws some);
#   link lock      a program that links the whole archive against the declared dependencies only:
#                  a call into a layer above does not link, and the build stops.
#
#   orrery_add_folders(folder ...)
#
# enters each folder that has a CMakeLists.txt.

set(ORRERY_RULE_DIR ${CMAKE_CURRENT_LIST_DIR})
set(CMAKE_VERIFY_INTERFACE_HEADER_SETS ON)
set(ORRERY_COLD_OPTIONS $<$<CONFIG:RelWithDebInfo>:-O1>)

add_custom_target(check_headers COMMENT "Each header compiles alone")

# What nearly every source includes of the standard library, read once: a second of each compilation.
# GCC takes a precompiled header only under the options it was made with, so there is one per kind.
# tools/checks/standalone.py compiles without them and so finds a missing include.
if(NOT ORRERY_STANDARD_HEADERS)
  set(ORRERY_STANDARD_HEADERS
    <algorithm> <array> <charconv> <chrono> <compare> <cstdint> <cstring> <deque> <filesystem>
    <functional> <limits> <map> <memory> <optional> <ostream> <queue> <set> <span> <sstream> <string>
    <string_view> <tuple> <type_traits> <unordered_map> <utility> <variant> <vector>)
endif()

function(orrery_standard_headers kind)
  add_library(orrery_${kind}_headers OBJECT ${ORRERY_RULE_DIR}/no_code.cpp)
  target_compile_options(orrery_${kind}_headers PRIVATE ${ARGN})
  target_precompile_headers(orrery_${kind}_headers PRIVATE ${ORRERY_STANDARD_HEADERS})
endfunction()

orrery_standard_headers(warm)
orrery_standard_headers(cold ${ORRERY_COLD_OPTIONS})
orrery_standard_headers(warm_no_exceptions -fno-exceptions)
orrery_standard_headers(cold_no_exceptions ${ORRERY_COLD_OPTIONS} -fno-exceptions)

macro(orrery_add_folders)
  foreach(folder ${ARGN})
    if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/CMakeLists.txt)
      add_subdirectory(${folder})
    endif()
  endforeach()
endmacro()

function(orrery_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "COLD;MODULE_PART;NO_EXCEPTIONS" "" "HEADERS;SOURCES;ALONE;MAY_LINK")
  orrery_reject_leftovers("orrery_library(${name})" "${arg_UNPARSED_ARGUMENTS}")
  list(TRANSFORM arg_HEADERS PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  list(TRANSFORM arg_SOURCES PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)

  set(target orrery_${name})
  if(arg_SOURCES)
    set(scope PUBLIC)
    add_library(${target} STATIC ${arg_SOURCES})
    orrery_unity(${target} EXCEPT ${arg_ALONE})
    set(kind warm)
    if(arg_COLD)
      target_compile_options(${target} PRIVATE ${ORRERY_COLD_OPTIONS})
      set(kind cold)
    endif()
    if(arg_NO_EXCEPTIONS)
      target_compile_options(${target} PRIVATE -fno-exceptions)
      string(APPEND kind _no_exceptions)
    endif()
    if(arg_MODULE_PART)
      set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    else()
      target_precompile_headers(${target} REUSE_FROM orrery_${kind}_headers)
    endif()
  else()
    set(scope INTERFACE)
    add_library(${target} INTERFACE)
  endif()
  add_library(orrery::${name} ALIAS ${target})
  target_include_directories(${target} ${scope} ${PROJECT_SOURCE_DIR})
  target_link_libraries(${target} ${scope} ${arg_MAY_LINK})

  if(arg_HEADERS)
    target_sources(${target} ${scope}
      FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${arg_HEADERS})
    # Not built with `all`: one compilation per header, which the sources repeat anyway.
    add_dependencies(check_headers ${target}_verify_interface_header_sets)
  endif()
  # What links without a sanitizer links with it.
  if(arg_SOURCES AND NOT ORRERY_SANITIZE)
    orrery_link_lock(${name})
  endif()
endfunction()

# Whole archive: every object of the library must find its symbols in what it declares.
function(orrery_link_lock name)
  set(lock orrery_${name}_link_lock)
  add_executable(${lock} ${ORRERY_RULE_DIR}/link_lock.cpp)
  target_link_libraries(${lock} PRIVATE $<LINK_LIBRARY:WHOLE_ARCHIVE,orrery_${name}>)
  if(ORRERY_TESTS)
    add_test(NAME link_lock.${name} COMMAND ${lock})
    set_tests_properties(link_lock.${name} PROPERTIES LABELS unit)
  endif()
endfunction()

function(orrery_reject_leftovers where leftovers)
  if(leftovers)
    message(FATAL_ERROR "${where}: unknown arguments: ${leftovers}; see OrreryLibrary.cmake")
  endif()
endfunction()
