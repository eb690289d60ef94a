# Run by `cmake --install`: what depends on the prefix. `made` is the folder of the built texts,
# `bin` the folder of programs below the prefix.

# Units start the installed program with the settings that operators write. They are written where
# they go: the folder of the build may serve several installations at once.
foreach(daemon agent controller)
  file(READ ${made}/orrery-${daemon}.service unit)
  string(REGEX REPLACE "\nExecStart=[^\n]*"
    "\nExecStart=\"${CMAKE_INSTALL_PREFIX}/${bin}/orrery-node\" ${daemon} --config \"/etc/orrery/${daemon}.yaml\""
    unit "${unit}")
  set(path ${CMAKE_INSTALL_PREFIX}/lib/systemd/system/orrery-${daemon}.service)
  message(STATUS "Installing: $ENV{DESTDIR}${path}")
  file(WRITE $ENV{DESTDIR}${path} "${unit}")
  list(APPEND CMAKE_INSTALL_MANIFEST_FILES ${path})
endforeach()

# Debian's zsh looks for completions of packages in a folder of their own.
set(zsh site-functions)
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  set(zsh vendor-completions)
endif()
foreach(program orrery orrery-node)
  file(INSTALL ${made}/${program}.zsh RENAME _${program}
    DESTINATION ${CMAKE_INSTALL_PREFIX}/share/zsh/${zsh})
endforeach()
