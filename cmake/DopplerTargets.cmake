# How every target of this project is made. Nothing here is global: what our code needs hangs on dp_options.

add_library(dp_options INTERFACE)
target_include_directories(dp_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(dp_options INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor -Woverloaded-virtual)
# GCC 12 sees overlapping copies where strings are joined with + (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(dp_options INTERFACE -Wno-restrict)
  # It also forgets, for some code of precompiled headers, that system headers are not to be warned about.
  if(NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
    target_compile_options(dp_options INTERFACE -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
  endif()
endif()
# The same floating-point results from every optimisation level: no contraction of a*b+c unless the code says fma.
target_compile_options(dp_options INTERFACE -ffp-contract=off)
if(DP_WERROR)
  target_compile_options(dp_options INTERFACE -Werror)
endif()
if(DP_ARCH AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_compile_options(dp_options INTERFACE -march=${DP_ARCH})
endif()
if(DP_SANITIZE)
  target_compile_options(dp_options INTERFACE -fsanitize=${DP_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(dp_options INTERFACE -fsanitize=${DP_SANITIZE})
  # GCC's ThreadSanitizer does not follow fences and says so; those of shared_weights.cc order memory between processes,
  # which it does not see either.
  if(DP_SANITIZE MATCHES "thread")
    target_compile_options(dp_options INTERFACE -Wno-tsan)
  endif()
endif()

# The headers of the standard library, compiled once for all libraries. A build with CMAKE_DISABLE_PRECOMPILE_HEADERS
# (preset dev) shows includes that only a precompiled header hides.
# What spends its time in files and other libraries is compiled with little optimisation, which takes two thirds of the time.
set(DP_LIGHT_OPTIONS $<$<CONFIG:Release>:-O1>)
foreach(headers dp_standard_headers dp_light_headers)
  add_library(${headers} OBJECT ${PROJECT_SOURCE_DIR}/cmake/precompiled.cc)
  target_link_libraries(${headers} PRIVATE dp_options)
  target_precompile_headers(${headers} PRIVATE
    <algorithm> <array> <charconv> <cmath> <filesystem> <fstream> <functional> <map> <memory> <optional> <set> <span>
    <sstream> <string> <string_view> <unordered_map> <utility> <vector>)
endforeach()
target_compile_options(dp_light_headers PRIVATE ${DP_LIGHT_OPTIONS})

# dp_library(NAME [LIGHT] [OWN_HEADERS] SOURCES a.cc ... [PUBLIC libs] [PRIVATE libs]). LIGHT: with little optimisation.
# OWN_HEADERS: without precompiled headers.
function(dp_library name)
  cmake_parse_arguments(ARG "LIGHT;OWN_HEADERS" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC ${ARG_PUBLIC} PRIVATE dp_options ${ARG_PRIVATE})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  set(headers dp_standard_headers)
  if(ARG_LIGHT)
    set(headers dp_light_headers)
    target_compile_options(${name} PRIVATE ${DP_LIGHT_OPTIONS})
  endif()
  if(NOT ARG_OWN_HEADERS)
    target_precompile_headers(${name} REUSE_FROM ${headers})
  endif()
endfunction()

# `programs`: what a user runs, without tests and benchmarks.
add_custom_target(programs)

# Front ends and tests spend their time in the libraries, and their compilation in the headers of CLI11, GoogleTest and
# the JSON library: these are compiled once, and the code around them with little optimisation.
if(TARGET CLI11::CLI11)
  add_library(dp_program_headers OBJECT ${PROJECT_SOURCE_DIR}/cmake/precompiled.cc)
  target_link_libraries(dp_program_headers PRIVATE dp_options CLI11::CLI11 nlohmann_json::nlohmann_json)
  target_compile_options(dp_program_headers PRIVATE ${DP_LIGHT_OPTIONS})
  target_precompile_headers(dp_program_headers PRIVATE
    <CLI/CLI.hpp> <nlohmann/json.hpp> <iostream> <map> <optional> <span> <string> <vector>)
endif()
if(DP_WITH_TESTS AND TARGET GTest::gtest)
  add_library(dp_test_headers OBJECT ${PROJECT_SOURCE_DIR}/cmake/precompiled.cc)
  target_link_libraries(dp_test_headers PRIVATE dp_options GTest::gmock GTest::gtest)
  target_compile_options(dp_test_headers PRIVATE ${DP_LIGHT_OPTIONS})
  target_precompile_headers(dp_test_headers PRIVATE
    <gmock/gmock.h> <gtest/gtest.h> <filesystem> <fstream> <map> <random> <span> <string> <vector>)
endif()

# dp_program(NAME SOURCES main.cc [PRIVATE libs]): a program of the product, in bin/.
function(dp_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;PRIVATE" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE dp_options ${ARG_PRIVATE})
  target_compile_options(${name} PRIVATE ${DP_LIGHT_OPTIONS})
  if("CLI11::CLI11" IN_LIST ARG_PRIVATE)
    target_precompile_headers(${name} REUSE_FROM dp_program_headers)
  endif()
  add_dependencies(programs ${name})
endfunction()

# dp_test(NAME [OWN_HEADERS] SOURCES a_test.cc ... [PRIVATE libs] [LABELS unit]): a GoogleTest program, run by ctest as one test.
function(dp_test name)
  cmake_parse_arguments(ARG "OWN_HEADERS" "TIMEOUT" "SOURCES;PRIVATE;LABELS" ${ARGN})
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_link_libraries(${name} PRIVATE dp_options GTest::gmock GTest::gtest_main ${ARG_PRIVATE})
  target_compile_options(${name} PRIVATE ${DP_LIGHT_OPTIONS})
  if(NOT ARG_OWN_HEADERS)
    target_precompile_headers(${name} REUSE_FROM dp_test_headers)
  endif()
  target_compile_definitions(${name} PRIVATE
    DP_SOURCE_DIR="${PROJECT_SOURCE_DIR}" DP_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT}
    ENVIRONMENT "TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/support/tsan.supp")
endfunction()
