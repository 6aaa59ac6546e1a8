# Warnings, hardening and sanitizers, for all that is ours.
add_library(kndl_options INTERFACE)
target_compile_options(
  kndl_options
  INTERFACE -Wall
            -Wextra
            -Werror
            -Wshadow
            -Wconversion
            -Wstrict-prototypes
            -Wmissing-prototypes
            -Wvla
            -Wformat=2
            -fstack-protector-strong)
target_compile_definitions(kndl_options INTERFACE _GNU_SOURCE)

if(CMAKE_C_COMPILER_ID STREQUAL "GNU" OR CMAKE_C_COMPILER_VERSION VERSION_GREATER_EQUAL 16)
  target_compile_options(kndl_options INTERFACE -ftrivial-auto-var-init=zero)
endif()

if(KNDL_SANITIZE)
  add_compile_options(-fsanitize=${KNDL_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer -g)
  add_link_options(-fsanitize=${KNDL_SANITIZE})
elseif(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
  target_compile_options(kndl_options INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
endif()
if(KNDL_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
