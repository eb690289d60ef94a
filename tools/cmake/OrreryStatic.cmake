# Programs that need nothing of the machine they run on.
#
#   orrery_static_program(TARGET)
#
# links TARGET with -static: gRPC as OrreryProto.cmake says, and every other shared library of the
# link line replaced by the archive beside it (static_link.py). Where a small trial of that does not
# link, where sanitizers are on, or with ORRERY_STATIC_PROGRAMS off, TARGET stays dynamic and a
# message says so.

option(ORRERY_STATIC_PROGRAMS "Link orrery-node statically where that works." ON)

set(ORRERY_STATIC_LAUNCHER ${CMAKE_CURRENT_LIST_DIR}/static_link.py)
set(ORRERY_LINKS_STATICALLY OFF)
if(ORRERY_STATIC_PROGRAMS AND NOT ORRERY_SANITIZE AND Python3_EXECUTABLE)
  set(trial ${CMAKE_BINARY_DIR}/static_trial)
  if(NOT DEFINED ORRERY_STATIC_TRIAL)
    # What a library's headers cost to compile is most of such a trial: declared here, found in the archives.
    file(WRITE ${trial}/main.cpp
      "extern \"C\" const void* TLS_client_method();\n"
      "int main() { return TLS_client_method() == nullptr; }\n")
    execute_process(
      COMMAND ${CMAKE_CXX_COMPILER} -static main.cpp -o trial
              -Wl,--whole-archive -lyaml-cpp -Wl,--no-whole-archive -lssl -lcrypto
      WORKING_DIRECTORY ${trial} RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
    if(failed)
      set(ORRERY_STATIC_TRIAL OFF CACHE INTERNAL "Whether static programs link.")
    else()
      set(ORRERY_STATIC_TRIAL ON CACHE INTERNAL "Whether static programs link.")
    endif()
  endif()
  set(ORRERY_LINKS_STATICALLY ${ORRERY_STATIC_TRIAL})
endif()
if(ORRERY_LINKS_STATICALLY)
  message(STATUS "static programs: orrery-node runs in an empty root")
else()
  message(STATUS "static programs: none (sanitizers, ORRERY_STATIC_PROGRAMS off, or archives are missing); "
                 "orrery-node is linked dynamically")
endif()

function(orrery_static_program target)
  if(NOT ORRERY_LINKS_STATICALLY)
    return()
  endif()
  target_link_options(${target} PRIVATE -static)
  set_target_properties(${target} PROPERTIES
    ORRERY_STATIC ON
    RULE_LAUNCH_LINK "${Python3_EXECUTABLE} ${ORRERY_STATIC_LAUNCHER}")
endfunction()
