# The packages that the libraries of the programs come from, as CPACK_DEBIAN_PACKAGE_DEPENDS: CPack includes
# this when all files are in place. Its own CPACK_DEBIAN_PACKAGE_SHLIBDEPS starts CMake and `file` for each
# file of the package, scenarios and pages too: 48 of the 56 seconds of processor time of a package.
set(top ${CPACK_TEMPORARY_DIRECTORY})
file(GLOB_RECURSE files LIST_DIRECTORIES false RELATIVE ${top} ${top}/*)
set(programs)
foreach(file IN LISTS files)
  file(READ ${top}/${file} magic LIMIT 4 HEX)
  if(magic STREQUAL "7f454c46")
    list(APPEND programs ./${file})
  endif()
endforeach()

# Programs without libraries are no input of dpkg-shlibdeps.
set(ENV{LC_ALL} C)
execute_process(COMMAND file --no-pad ${programs} WORKING_DIRECTORY ${top}
  OUTPUT_VARIABLE told COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+: ELF[^\n]*dynamically linked" dynamic "${told}")
list(TRANSFORM dynamic REPLACE ": ELF.*" "")

# It looks for a source package's control file where it is started, and for the tree of the package, which
# is where $ORIGIN leads, by the folder DEBIAN.
set(source ${top}-source)
file(REMOVE_RECURSE ${source})
file(WRITE ${source}/debian/control "")
file(MAKE_DIRECTORY ${top}/DEBIAN)
list(TRANSFORM dynamic REPLACE "^[.]/" "${top}/")
execute_process(COMMAND dpkg-shlibdeps --ignore-missing-info -O ${dynamic} WORKING_DIRECTORY ${source}
  OUTPUT_VARIABLE told ERROR_VARIABLE errors RESULT_VARIABLE result OUTPUT_STRIP_TRAILING_WHITESPACE)
file(REMOVE_RECURSE ${top}/DEBIAN ${source})
if(NOT result EQUAL 0 OR NOT told MATCHES "^shlibs:Depends=(.+)$")
  message(FATAL_ERROR "dpkg-shlibdeps ended with ${result}: ${told}\n${errors}")
endif()
set(CPACK_DEBIAN_PACKAGE_DEPENDS "${CMAKE_MATCH_1}")
