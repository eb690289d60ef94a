# Protocol files, and the libraries of gRPC and OpenSSL.
#
#   orrery_proto(NAME file.proto [NO_GRPC])
#
# makes `orrery::proto_NAME` from a file of the calling folder: protobuf's code and, without
# NO_GRPC, the services. It is included as "FOLDER/file.pb.h" and "FOLDER/file.grpc.pb.h", from the
# root of the repository, and only from .cpp files: these headers are slow to compile.
#
# `orrery::grpc` are the gRPC and protobuf libraries: the shared ones, or in a program with the
# property ORRERY_STATIC their archives with all that these need in turn, in an order that links:
#
#   set_target_properties(program PROPERTIES ORRERY_STATIC ON)
#   target_link_options(program PRIVATE -static)
#
# `orrery::openssl` is OpenSSL, for both kinds of programs.

if(NOT ORRERY_HAS_RUNTIME)
  return()
endif()

set(ORRERY_GENERATED_DIR ${PROJECT_BINARY_DIR}/generated)

# Named one by one, so that no program opens the sixty libraries behind them itself.
add_library(orrery_grpc_shared INTERFACE)
target_link_libraries(orrery_grpc_shared INTERFACE grpc++ grpc gpr protobuf absl_synchronization)

list(JOIN ORRERY_GRPC_ARCHIVES , orrery_grpc_group)
add_library(orrery_grpc_archives INTERFACE)
target_link_libraries(orrery_grpc_archives INTERFACE $<LINK_GROUP:RESCAN,${orrery_grpc_group}>)

add_library(orrery_grpc INTERFACE)
add_library(orrery::grpc ALIAS orrery_grpc)
target_link_libraries(orrery_grpc INTERFACE
  $<IF:$<BOOL:$<TARGET_PROPERTY:ORRERY_STATIC>>,orrery_grpc_archives,orrery_grpc_shared>
  Threads::Threads)

# By name for the same reason: -static finds the archives.
add_library(orrery_openssl INTERFACE)
add_library(orrery::openssl ALIAS orrery_openssl)
target_link_libraries(orrery_openssl INTERFACE ssl crypto)

function(orrery_proto name file)
  cmake_parse_arguments(PARSE_ARGV 2 arg "NO_GRPC" "" "")
  orrery_reject_leftovers("orrery_proto(${name})" "${arg_UNPARSED_ARGUMENTS}")
  set(source ${CMAKE_CURRENT_SOURCE_DIR}/${file})
  cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE path)
  string(REGEX REPLACE "\\.proto$" "" stem ${ORRERY_GENERATED_DIR}/${path})
  set(made ${stem}.pb.cc ${stem}.pb.h)
  set(options --cpp_out=${ORRERY_GENERATED_DIR})
  if(NOT arg_NO_GRPC)
    list(APPEND made ${stem}.grpc.pb.cc ${stem}.grpc.pb.h)
    list(APPEND options --grpc_out=${ORRERY_GENERATED_DIR}
         --plugin=protoc-gen-grpc=${ORRERY_GRPC_PLUGIN})
  endif()
  file(MAKE_DIRECTORY ${ORRERY_GENERATED_DIR})
  add_custom_command(OUTPUT ${made}
    COMMAND ${ORRERY_PROTOC} -I ${PROJECT_SOURCE_DIR} ${options} ${source}
    DEPENDS ${source}
    VERBATIM)
  add_library(orrery_proto_${name} STATIC ${made})
  add_library(orrery::proto_${name} ALIAS orrery_proto_${name})
  target_include_directories(orrery_proto_${name} SYSTEM PUBLIC ${ORRERY_GENERATED_DIR})
  # What protoc makes is big, and is not debugged.
  target_compile_options(orrery_proto_${name} PRIVATE -w -O1 -g0)
  target_link_libraries(orrery_proto_${name} PUBLIC orrery::grpc)
endfunction()
