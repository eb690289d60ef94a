# The Debian package: target `package` builds what is installed, and no test, and then
# build/orrery_VERSION_ARCHITECTURE.deb. What is installed where is said beside each target
# (install()) and in tools/package.

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME orrery)
set(CPACK_PACKAGE_CONTACT "Orrery <orrery@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "control plane for elastic GPU training jobs, with its simulator")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
  "One core decides which job gets how many GPUs, which ones, and what happens when a
node dies; it runs against a simulated cluster or against controllers and
agents. The package has both, a sample worker, scenarios and examples.")
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE zstd)      # A fifth of the time of xz; Debian 12 reads it.
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/tools/package/debian/dependencies.cmake)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
  ${PROJECT_SOURCE_DIR}/tools/package/debian/postinst
  ${PROJECT_SOURCE_DIR}/tools/package/debian/prerm
  ${PROJECT_SOURCE_DIR}/tools/package/debian/postrm)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR})
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)

# Not where CMake looks for it: its own target `package` would build every test first.
set(CPACK_OUTPUT_CONFIG_FILE ${PROJECT_BINARY_DIR}/packaging/CPackConfig.cmake)
set(CPACK_SOURCE_OUTPUT_CONFIG_FILE ${PROJECT_BINARY_DIR}/packaging/CPackSourceConfig.cmake)
include(CPack)

find_program(ORRERY_SHLIBDEPS dpkg-shlibdeps)
find_program(ORRERY_FILE file)
mark_as_advanced(ORRERY_SHLIBDEPS ORRERY_FILE)
if(ORRERY_SHLIBDEPS AND ORRERY_FILE)
  add_custom_target(package
    COMMAND ${CMAKE_CPACK_COMMAND} --config ${CPACK_OUTPUT_CONFIG_FILE}
    WORKING_DIRECTORY ${PROJECT_BINARY_DIR}
    COMMENT "Debian package"
    VERBATIM USES_TERMINAL)
else()
  # Said before anything is built.
  add_custom_target(package
    COMMAND ${CMAKE_COMMAND} -E echo "package: dpkg-shlibdeps or file is missing, which name the \
packages that the programs need; install dpkg-dev and file, and configure again"
    COMMAND ${CMAKE_COMMAND} -E false
    VERBATIM)
endif()
add_dependencies(package installable)
