# kndl_proto(target files...): protobuf-c stubs of every .proto below proto/, as one library whose
# headers are included as "kndl/<package>/v1/<file>.pb-c.h".
find_program(PROTOC_C protoc-c REQUIRED)
pkg_check_modules(protobuf_c REQUIRED IMPORTED_TARGET libprotobuf-c)

function(kndl_proto target)
  set(made ${CMAKE_BINARY_DIR}/proto)
  file(MAKE_DIRECTORY ${made})
  foreach(file IN LISTS ARGN)
    cmake_path(RELATIVE_PATH file BASE_DIRECTORY ${CMAKE_SOURCE_DIR}/proto OUTPUT_VARIABLE name)
    string(REGEX REPLACE "\\.proto$" "" stem ${name})
    add_custom_command(
      OUTPUT ${made}/${stem}.pb-c.c ${made}/${stem}.pb-c.h
      COMMAND ${PROTOC_C} --c_out=${made} -I ${CMAKE_SOURCE_DIR}/proto ${name}
      WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}/proto
      DEPENDS ${ARGN}
      VERBATIM)
    list(APPEND sources ${made}/${stem}.pb-c.c)
  endforeach()
  add_library(${target} STATIC ${sources})
  target_include_directories(${target} SYSTEM PUBLIC ${made})
  target_link_libraries(${target} PUBLIC PkgConfig::protobuf_c)
endfunction()
