# Everything Orrery takes from outside; docs/dependencies.md gives reason and licence of each.
# Nothing is fetched: tools/packages installs the Debian packages.

# Python links static programs, makes pages and runs the tests. Debian's own first, for which tools/packages
# installs modules; then what the PATH has, of that the interpreter itself: it may be a script that looks
# for it at each start, of which FindPython3 alone makes ten.
if(NOT Python3_EXECUTABLE)
  find_program(ORRERY_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
  find_program(ORRERY_PYTHON python3)
  mark_as_advanced(ORRERY_PYTHON)
  if(ORRERY_PYTHON)
    execute_process(COMMAND ${ORRERY_PYTHON} -c "import sys; print(sys.executable)"
      OUTPUT_VARIABLE Python3_EXECUTABLE OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  endif()
endif()
if(ORRERY_TESTS)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
else()
  find_package(Python3 QUIET COMPONENTS Interpreter)
endif()

find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(yaml-cpp REQUIRED)                              # yaml-cpp
find_package(SQLite3 REQUIRED)                               # SQLite::SQLite3
find_package(nlohmann_json REQUIRED)                         # nlohmann_json::nlohmann_json
pkg_check_modules(qhull_r REQUIRED IMPORTED_TARGET qhull_r)  # PkgConfig::qhull_r

# What simulators spend on memory is a fifth less with it; sanitizers bring their own allocator.
option(ORRERY_JEMALLOC "Let the simulators use jemalloc where it is installed." ON)
if(ORRERY_JEMALLOC AND NOT ORRERY_SANITIZE)
  pkg_check_modules(jemalloc QUIET IMPORTED_TARGET jemalloc) # PkgConfig::jemalloc
endif()
if(jemalloc_FOUND)
  message(STATUS "jemalloc ${jemalloc_VERSION}: the simulators' memory")
else()
  message(STATUS "jemalloc: none, or not wanted; the simulators use the C library's memory, a little slower")
endif()

# Linear and mixed-integer programs: policies/solver alone links it. Named one by one, since
# pkg-config adds LAPACK and BLAS, of which the solver has its own two functions, and what only the
# archives of a static program ask for (static_link.py).
option(ORRERY_SOLVER "Use CLP and CBC where they are installed." ON)
set(ORRERY_HAS_SOLVER OFF)
if(ORRERY_SOLVER)
  pkg_check_modules(cbc QUIET cbc)
  set(ORRERY_HAS_SOLVER ${cbc_FOUND})
endif()
if(ORRERY_HAS_SOLVER)
  add_library(orrery_coin INTERFACE)
  add_library(orrery::coin ALIAS orrery_coin)
  # Their archives, where they and what they need are: the shared libraries bring four more, LAPACK among
  # them, and to load all these was 12 of the 29 ms of processor time of each start of a simulator.
  find_library(ORRERY_BZIP2 bz2)
  find_library(ORRERY_ZLIB z)
  mark_as_advanced(ORRERY_BZIP2 ORRERY_ZLIB)
  set(coin)
  foreach(part Cbc Cgl OsiClp Clp Osi CoinUtils)
    if(ORRERY_BZIP2 AND ORRERY_ZLIB)
      find_library(ORRERY_COIN_LIBRARY_${part} NAMES lib${part}.a ${part} REQUIRED)
    else()
      find_library(ORRERY_COIN_LIBRARY_${part} ${part} REQUIRED)
    endif()
    list(APPEND coin ${ORRERY_COIN_LIBRARY_${part}})
  endforeach()
  list(JOIN coin , coin)
  target_link_libraries(orrery_coin INTERFACE $<LINK_GROUP:RESCAN,${coin}>)
  if(ORRERY_COIN_LIBRARY_CoinUtils MATCHES "[.]a$")
    target_link_libraries(orrery_coin INTERFACE ${ORRERY_BZIP2} ${ORRERY_ZLIB})
  endif()
  message(STATUS "CBC ${cbc_VERSION}: policies solve linear and mixed-integer programs")
else()
  message(STATUS "CBC: none, or not wanted (ORRERY_SOLVER): policies that solve programs are left out "
                 "(coinor-libcbc-dev brings it)")
endif()

# Controller, agents, shims and the client: the program orrery-node and all that it starts. The
# simulators (the program orrery) are built without them.
set(ORRERY_RUNTIME ON CACHE STRING
  "Build controller, agents and client: ON, OFF, or AUTO (where gRPC, Boost and OpenSSL are).")
set_property(CACHE ORRERY_RUNTIME PROPERTY STRINGS ON OFF AUTO)
set(ORRERY_HAS_RUNTIME OFF)

# Sets ORRERY_GRPC_FOUND and ORRERY_GRPC_VERSION where gRPC is, and ORRERY_GRPC_ARCHIVES to all that its
# archives need.
# pkg_check_modules() would ask 24 times, and each answer about 130 modules takes a third of a second or more.
function(orrery_find_grpc)
  if(ORRERY_GRPC_FOUND)
    return()
  endif()
  execute_process(COMMAND ${PKG_CONFIG_EXECUTABLE} --modversion grpc++ protobuf
    OUTPUT_VARIABLE versions ERROR_QUIET RESULT_VARIABLE missing)
  if(missing)
    return()
  endif()
  execute_process(COMMAND ${PKG_CONFIG_EXECUTABLE} --static --libs-only-l grpc++ protobuf
    OUTPUT_VARIABLE archives OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCH "^[^\n]+" version "${versions}")
  separate_arguments(archives UNIX_COMMAND "${archives}")
  list(TRANSFORM archives REPLACE "^-l" "")
  list(REMOVE_DUPLICATES archives)
  set(ORRERY_GRPC_FOUND 1 CACHE INTERNAL "gRPC is here")
  set(ORRERY_GRPC_VERSION ${version} CACHE INTERNAL "gRPC's version")
  set(ORRERY_GRPC_ARCHIVES ${archives} CACHE INTERNAL "what a program needs that is linked with gRPC's archives")
  # As pkg_check_modules() leaves it: package_closure.py looks for what was asked.
  set(__pkg_config_arguments_ORRERY_GRPC grpc++ protobuf CACHE INTERNAL "asked of pkg-config")
endfunction()

if(ORRERY_RUNTIME)
  set(needed REQUIRED)
  if(ORRERY_RUNTIME STREQUAL AUTO)
    set(needed QUIET)
  endif()
  find_package(Boost 1.74 ${needed})                         # Boost::headers: Asio and Beast
  find_package(OpenSSL ${needed})                            # orrery::openssl, in OrreryProto.cmake
  orrery_find_grpc()                                         # orrery::grpc, in OrreryProto.cmake
  find_program(ORRERY_PROTOC protoc)
  find_program(ORRERY_GRPC_PLUGIN grpc_cpp_plugin)
  if(Boost_FOUND AND OPENSSL_FOUND AND ORRERY_GRPC_FOUND AND ORRERY_PROTOC AND ORRERY_GRPC_PLUGIN)
    set(ORRERY_HAS_RUNTIME ON)
  elseif(NOT ORRERY_RUNTIME STREQUAL AUTO)
    message(FATAL_ERROR "gRPC, protoc or its plugin grpc_cpp_plugin is missing; run tools/packages, or "
                        "configure with -DORRERY_RUNTIME=OFF for the simulators alone")
  endif()
endif()
if(ORRERY_HAS_RUNTIME)
  message(STATUS "gRPC ${ORRERY_GRPC_VERSION}: controller, agents and client are built")
else()
  message(STATUS "gRPC: none, or not wanted (ORRERY_RUNTIME is ${ORRERY_RUNTIME}): controller, "
                 "agents and client are left out; tools/build builds them")
endif()

if(ORRERY_TESTS AND NOT ORRERY_HAS_RUNTIME)
  message(FATAL_ERROR "ORRERY_TESTS needs controller and agents; run tools/packages and configure "
                      "with -DORRERY_RUNTIME=ON, or with -DORRERY_TESTS=OFF")
endif()
if(ORRERY_TESTS)
  find_package(GTest REQUIRED)                               # GTest::gtest, GTest::gmock
endif()
if(ORRERY_BENCH)
  find_package(benchmark QUIET)                              # benchmark::benchmark
endif()

# World `sim` at levels L2 and L3: sim/simgrid alone links it, and everything else is built without.
option(ORRERY_SIMGRID "Use SimGrid where it is installed." ON)
set(ORRERY_HAS_SIMGRID OFF)
if(ORRERY_SIMGRID)
  pkg_check_modules(simgrid QUIET IMPORTED_TARGET simgrid)   # PkgConfig::simgrid
  set(ORRERY_HAS_SIMGRID ${simgrid_FOUND})
endif()
if(ORRERY_HAS_SIMGRID)
  message(STATUS "SimGrid ${simgrid_VERSION}: fidelity L2 and L3 are built")
elseif(ORRERY_SIMGRID)
  message(STATUS "SimGrid: none, fidelity L2 and L3 are left out (libsimgrid-dev brings them)")
else()
  message(STATUS "SimGrid: not wanted (ORRERY_SIMGRID), fidelity L2 and L3 are left out")
endif()

# Collectives of the sample worker; without it the workers' own ring serves.
option(ORRERY_GLOO "Use Gloo where it is installed." ON)
set(ORRERY_HAS_GLOO OFF)
if(ORRERY_GLOO AND ORRERY_HAS_RUNTIME)
  find_package(Gloo QUIET)                                   # gloo
  set(ORRERY_HAS_GLOO ${Gloo_FOUND})
endif()
if(ORRERY_HAS_GLOO)
  message(STATUS "Gloo ${Gloo_VERSION}: orrery-worker uses it")
else()
  message(STATUS "Gloo: none, orrery-worker uses its own ring (libgloo-dev brings it)")
endif()

# NUMA nodes and processors of a node; without it the kernel's files answer.
option(ORRERY_HWLOC "Use hwloc where it is installed." ON)
set(ORRERY_HAS_HWLOC OFF)
if(ORRERY_HWLOC AND ORRERY_HAS_RUNTIME)
  pkg_check_modules(hwloc QUIET IMPORTED_TARGET hwloc)       # PkgConfig::hwloc
  set(ORRERY_HAS_HWLOC ${hwloc_FOUND})
endif()
if(ORRERY_HAS_HWLOC)
  message(STATUS "hwloc ${hwloc_VERSION}: agents read the topology with it")
else()
  message(STATUS "hwloc: none, agents read the kernel's files (libhwloc-dev brings it)")
endif()

# GPU parts are built where the toolkit is; everything else never asks for it. Below 12 nvcc has no
# C++20: Debian's own is 11.8. The test cuda_worker_is_built fails where an nvcc goes unused.
if(ORRERY_HAS_RUNTIME)
  find_package(CUDAToolkit QUIET)
endif()
set(ORRERY_HAS_CUDA OFF)
if(CUDAToolkit_FOUND AND CUDAToolkit_VERSION VERSION_GREATER_EQUAL 12 AND
   CUDAToolkit_NVCC_EXECUTABLE AND NOT ORRERY_SANITIZE AND NOT ORRERY_FUZZ)
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    set(CMAKE_CUDA_COMPILER ${CUDAToolkit_NVCC_EXECUTABLE})
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES "90-real;90-virtual")
    endif()
    enable_language(CUDA)
    # CMake 3.25 does not know that nvcc speaks C++20 from version 12 on.
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
    endif()
    set(ORRERY_HAS_CUDA ON)
    # The compiler may be a script that stands outside the toolkit's folder; package_closure.py asks.
    set(ORRERY_CUDA_COMPILER ${CMAKE_CUDA_COMPILER} CACHE INTERNAL "compiles CUDA sources")
  endif()
endif()
if(ORRERY_HAS_CUDA)
  message(STATUS "CUDA toolkit ${CUDAToolkit_VERSION}: GPU parts are built")
else()
  message(STATUS "CUDA toolkit: none that can be used here, GPU parts are left out")
endif()
