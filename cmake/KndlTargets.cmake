# How a lib, a service and their tests, fuzzers and benchmarks are made from a folder.
#
#   kndl_lib(db LIBS base PACKAGES libpq)      *.c of the folder; headers in ./kndl/
#   kndl_service(sessions LIBS bus db crypt)   *.c and sql/ of the folder
#
# Both make one executable of each tests/test_*.c (ctest label unit; test_db_*.c and test_store.c:
# db), of each fuzz/fuzz_*.c (its corpus fuzz/corpus/<name>/ is replayed under label fuzz) and of
# each bench/bench_*.c (never a test). A test file links all of the folder but main.c; a module
# that tests/fakes.c replaces is left out where the test's CMake line says WITHOUT.
pkg_check_modules(cmocka REQUIRED IMPORTED_TARGET cmocka)

function(kndl_target_libs target)
  cmake_parse_arguments(arg "" "" "LIBS;PACKAGES" ${ARGN})
  foreach(lib IN LISTS arg_LIBS)
    target_link_libraries(${target} PUBLIC kndl::${lib})
  endforeach()
  foreach(package IN LISTS arg_PACKAGES)
    string(MAKE_C_IDENTIFIER ${package} id)
    if(NOT TARGET PkgConfig::${id})
      pkg_check_modules(${id} REQUIRED IMPORTED_TARGET GLOBAL ${package})
    endif()
    target_link_libraries(${target} PUBLIC PkgConfig::${id})
  endforeach()
endfunction()

# SQL of the folder: sql/x.sql -> x.sql.h; sql/migrations/0001_x.sql -> 0001_x.sql.h with
# MIGRATION_0001_X.
function(kndl_sql target)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/sql/*.sql
       ${CMAKE_CURRENT_SOURCE_DIR}/sql/migrations/*.sql)
  set(made ${CMAKE_CURRENT_BINARY_DIR}/sql)
  file(MAKE_DIRECTORY ${made})
  foreach(file IN LISTS files)
    get_filename_component(name ${file} NAME)
    set(whole "")
    if(file MATCHES "/migrations/")
      string(REGEX REPLACE "\\.sql$" "" stem ${name})
      string(TOUPPER "MIGRATION_${stem}" whole)
      set(whole "-DWHOLE=${whole}")
    endif()
    add_custom_command(
      OUTPUT ${made}/${name}.h
      COMMAND ${CMAKE_COMMAND} -DIN=${file} -DOUT=${made}/${name}.h ${whole} -P
              ${CMAKE_SOURCE_DIR}/cmake/sql_to_c.cmake
      DEPENDS ${file} ${CMAKE_SOURCE_DIR}/cmake/sql_to_c.cmake
      VERBATIM)
    target_sources(${target} PRIVATE ${made}/${name}.h)
  endforeach()
  target_include_directories(${target} PRIVATE ${made})
endfunction()

# kndl_test(<file.c> TARGET <what is tested> [LABEL unit] [SOURCES more.c] [LIBS ...])
function(kndl_test file)
  cmake_parse_arguments(arg "" "TARGET;LABEL" "SOURCES;LIBS" ${ARGN})
  get_filename_component(stem ${file} NAME_WE)
  string(REPLACE "test_" "" stem ${stem})
  string(REPLACE "kndl_" "" folder ${arg_TARGET})
  set(name ${folder}.${stem})
  add_executable(test_${name} ${file} ${arg_SOURCES})
  target_link_libraries(test_${name} PRIVATE ${arg_TARGET} PkgConfig::cmocka kndl_options)
  foreach(lib IN LISTS arg_LIBS)
    target_link_libraries(test_${name} PRIVATE kndl::${lib})
  endforeach()
  target_include_directories(test_${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}
                                                  ${CMAKE_CURRENT_SOURCE_DIR}/tests)
  add_test(NAME ${name} COMMAND test_${name})
  if(NOT arg_LABEL)
    set(arg_LABEL unit)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS ${arg_LABEL} TIMEOUT 120)
endfunction()

function(kndl_folder_extras target)
  file(GLOB tests CONFIGURE_DEPENDS tests/test_*.c)
  foreach(file IN LISTS tests)
    get_filename_component(stem ${file} NAME_WE)
    get_property(own DIRECTORY PROPERTY KNDL_OWN_TESTS)
    if(${stem} IN_LIST own)
      continue()
    endif()
    if(stem MATCHES "^test_(db_|store)")
      kndl_test(${file} TARGET ${target} LABEL db LIBS testing)
    elseif(target STREQUAL "kndl_base")
      kndl_test(${file} TARGET ${target})
    else()
      kndl_test(${file} TARGET ${target} LIBS testing)
    endif()
  endforeach()

  file(GLOB fuzzers CONFIGURE_DEPENDS fuzz/fuzz_*.c)
  foreach(file IN LISTS fuzzers)
    get_filename_component(stem ${file} NAME_WE)
    add_executable(${stem} ${file})
    target_link_libraries(${stem} PRIVATE ${target} kndl_options)
    target_include_directories(${stem} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
    if(KNDL_FUZZ)
      target_link_options(${stem} PRIVATE -fsanitize=fuzzer)
    else()
      target_sources(${stem} PRIVATE ${CMAKE_SOURCE_DIR}/libs/testing/fuzz_replay.c)
      string(REPLACE "fuzz_" "" short ${stem})
      add_test(NAME fuzz.${short} COMMAND ${stem} ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/corpus/${short})
      set_tests_properties(fuzz.${short} PROPERTIES LABELS fuzz TIMEOUT 120)
    endif()
  endforeach()

  file(GLOB benches CONFIGURE_DEPENDS bench/bench_*.c)
  foreach(file IN LISTS benches)
    get_filename_component(stem ${file} NAME_WE)
    add_executable(${stem} ${file})
    target_link_libraries(${stem} PRIVATE ${target} kndl_options)
    target_include_directories(${stem} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  endforeach()
endfunction()

function(kndl_lib name)
  file(GLOB sources CONFIGURE_DEPENDS *.c)
  add_library(kndl_${name} STATIC ${sources})
  add_library(kndl::${name} ALIAS kndl_${name})
  target_include_directories(kndl_${name} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(kndl_${name} PRIVATE kndl_options PUBLIC Threads::Threads)
  kndl_target_libs(kndl_${name} ${ARGN})
  kndl_folder_extras(kndl_${name})
endfunction()

# All but main.c is the library <name>, which tests link; the process is build/…/bin/<name>.
function(kndl_service name)
  file(GLOB sources CONFIGURE_DEPENDS *.c)
  list(FILTER sources EXCLUDE REGEX "/main\\.c$")
  add_library(${name} STATIC ${sources})
  target_include_directories(${name} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE kndl_options PUBLIC kndl_proto)
  kndl_target_libs(${name} ${ARGN})
  kndl_sql(${name})
  add_executable(${name}_main main.c)
  set_target_properties(${name}_main PROPERTIES OUTPUT_NAME ${name})
  target_link_libraries(${name}_main PRIVATE ${name} kndl_options)
  kndl_folder_extras(${name})
endfunction()
