# Sources of one folder compiled together, so that what they all include is read once.
#
#   orrery_unity(TARGET [EXCEPT a.cpp ...])
#
# joins the C++ sources of TARGET, folder by folder, in runs of ORRERY_UNITY_FILES at most; small folders share
# theirs. A translation unit never holds files of two targets, so the link locks see what they always saw.
# With ORRERY_UNITY off each source is compiled alone; `tools/checks/standalone.py` does that for a
# folder at a time, since a missing include goes unseen here.

option(ORRERY_UNITY "Compile the sources of a folder together." ON)
set(ORRERY_UNITY_FILES 16 CACHE STRING "How many sources make one translation unit at most.")

function(orrery_unity target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "EXCEPT")
  if(NOT ORRERY_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  get_target_property(folder ${target} SOURCE_DIR)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  foreach(source ${sources})
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${folder} NORMALIZE)
    if(NOT EXISTS ${source})
      continue()  # Made by the build.
    endif()
    cmake_path(GET source PARENT_PATH parent)
    cmake_path(GET source FILENAME name)
    if(name IN_LIST arg_EXCEPT)
      continue()
    endif()
    string(MAKE_C_IDENTIFIER "${parent}" key)
    cmake_path(RELATIVE_PATH parent BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE place)
    # tests/system/planted links its own objects in the place of those with planted bugs, all of a
    # folder: they share their units with no other source.
    file(STRINGS ${source} planted REGEX "planted\\(Bug::|node_host.hpp\"" LIMIT_COUNT 1)
    if(planted)
      string(APPEND key _planted)
      string(APPEND place _planted)
    endif()
    string(REGEX REPLACE "[^a-z0-9_]+" "_" place_${key} "${place}")
    list(APPEND keys ${key})
    list(APPEND sources_${key} ${source})
  endforeach()
  list(REMOVE_DUPLICATES keys)
  # Small folders of one target share their units: most of a unit of few sources is its headers.
  math(EXPR few "${ORRERY_UNITY_FILES} / 4")
  set(small_folders "")
  foreach(key IN LISTS keys)
    list(LENGTH sources_${key} count)
    if(count LESS_EQUAL few AND NOT key MATCHES "_planted$")
      list(APPEND small_folders ${key})
    endif()
  endforeach()
  list(LENGTH small_folders count)
  if(count GREATER 1)
    list(REMOVE_ITEM keys ${small_folders})
    list(APPEND keys small_folders)
    foreach(key IN LISTS small_folders)
      list(APPEND sources_small_folders ${sources_${key}})
    endforeach()
    set(place_small_folders small_folders)
  endif()
  foreach(key IN LISTS keys)
    # Runs of one length: a short one at the end would read all headers for a file or two.
    list(LENGTH sources_${key} count)
    math(EXPR runs "(${count} + ${ORRERY_UNITY_FILES} - 1) / ${ORRERY_UNITY_FILES}")
    set(index 0)
    foreach(source IN LISTS sources_${key})
      math(EXPR run "${index} * ${runs} / ${count}")
      math(EXPR index "${index} + 1")
      set_property(SOURCE ${source} TARGET_DIRECTORY ${target}
                   PROPERTY UNITY_GROUP ${place_${key}}_${run})
    endforeach()
  endforeach()
  # A source's unnamed namespace, in which its own types are, is no longer that of the main file.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
