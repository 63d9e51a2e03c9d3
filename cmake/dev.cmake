# Settings of our own tests, examples and benchmarks. They do not affect the exported targets.

# Flags of a CI configuration for compiler and linker: instruction set, sanitizers, language switches.
set(SPECVERIFY_DEV_FLAGS "" CACHE STRING "Compiler flags of our own tests and examples, separated by semicolons")
set(SPECVERIFY_PRECOMPILE OFF CACHE STRING
  "Precompile headers of all tests (ON, OFF, AUTO: if there is no ccache): faster from scratch, slower while editing headers")
# In a full build, each header and each template then costs once per group instead of once per file.
option(SPECVERIFY_GROUPED
  "Compile test files and examples in groups, and each program at the cheapest optimization level unless SPECVERIFY_DEV_FLAGS has one" OFF)
set(specverify_levels ${SPECVERIFY_GROUPED})
if(SPECVERIFY_DEV_FLAGS MATCHES "-O")
  set(specverify_levels OFF)
endif()
# Sets of tests to configure. `default` needs no cross compilers.
set(SPECVERIFY_TEST_SETS "default" CACHE STRING
  "default, or a list of: unit law backend wire session adapters fuzz cost device twins compile_fail examples newcomer apps scripts lint tools headers consumer odr outputs one_hash first rows nvcc")
if(SPECVERIFY_TEST_SETS STREQUAL "default")
  set(specverify_test_sets all)
else()
  set(specverify_test_sets ${SPECVERIFY_TEST_SETS})
endif()
set(SPECVERIFY_ROOMS_LEFT_OUT "" CACHE STRING
  "Modules of tests/unit, and files such as session/hybrid_law, that only the long run configures")
option(SPECVERIFY_ALL_TESTS
  "Also configure the tests of the long run: all mutants, the quick run of lab, the C library at every vector level, kernels with -fsanitize=undefined" OFF)
set(specverify_extra_sets headers consumer odr outputs first rows nvcc)

# Sets ${result} to TRUE if the build includes this set of tests.
function(specverify_has_set name result)
  set(${result} FALSE PARENT_SCOPE)
  if(name IN_LIST specverify_test_sets
      OR ("all" IN_LIST specverify_test_sets AND NOT name IN_LIST specverify_extra_sets))
    set(${result} TRUE PARENT_SCOPE)
  endif()
endfunction()

if(PROJECT_IS_TOP_LEVEL)
  find_program(SPECVERIFY_CCACHE ccache)
  if(DEFINED ENV{CCACHE_DISABLE})
    set(SPECVERIFY_CCACHE "")
  endif()
  if(SPECVERIFY_PRECOMPILE STREQUAL "AUTO")
    set(SPECVERIFY_PRECOMPILE ON)
    if(SPECVERIFY_CCACHE)
      set(SPECVERIFY_PRECOMPILE OFF)
    endif()
  endif()
  if(SPECVERIFY_CCACHE AND NOT SPECVERIFY_PRECOMPILE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${SPECVERIFY_CCACHE}")
  endif()
endif()
set(CMAKE_CXX_EXTENSIONS OFF)

add_library(specverify_flags INTERFACE)
target_link_libraries(specverify_flags INTERFACE specverify::specverify)
if(TARGET specverify_heads)
  target_link_libraries(specverify_flags INTERFACE specverify::heads)
endif()
target_include_directories(specverify_flags INTERFACE "${PROJECT_SOURCE_DIR}/tests")
# An exception in an assertion fails the test case anyway, and a try block per assertion would cost compile time.
target_compile_definitions(specverify_flags INTERFACE DOCTEST_CONFIG_NO_TRY_CATCH_IN_ASSERTS)
target_compile_options(specverify_flags INTERFACE ${SPECVERIFY_DEV_FLAGS})
target_link_options(specverify_flags INTERFACE ${SPECVERIFY_DEV_FLAGS})
if(CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
  target_compile_options(specverify_flags INTERFACE -Wall -Wextra -Wconversion -Wshadow -Wsign-conversion)
  if(SPECVERIFY_WARNINGS_AS_ERRORS)
    target_compile_options(specverify_flags INTERFACE -Werror)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # g++ 12 warns inside its own AVX-512 header.
    target_compile_options(specverify_flags INTERFACE -Wno-maybe-uninitialized -Wno-uninitialized)
  endif()
  # If the memory is enough for two configurations at once, g++ collects no garbage below 2 GB, because collecting costs
  # time.
  cmake_host_system_information(RESULT memory QUERY TOTAL_PHYSICAL_MEMORY)  # MiB
  cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
  math(EXPR memory_needed "2 * ${cores} * 2000")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND memory GREATER memory_needed)
    target_compile_options(specverify_flags INTERFACE --param=ggc-min-heapsize=2000000)  # kB
  endif()
endif()

target_link_libraries(specverify_compiled PRIVATE specverify_flags)  # the library uses the flags of the configuration

# The pages' code blocks become files of this folder, when CMake runs; it runs again when a page changes.
set(specverify_pages "${PROJECT_BINARY_DIR}/pages")
file(GLOB pages CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/*.md")
file(GLOB_RECURSE more_pages CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/docs/*.md" "${PROJECT_SOURCE_DIR}/apps/*.md")
set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${pages} ${more_pages})
execute_process(COMMAND perl "${PROJECT_SOURCE_DIR}/scripts/pages" "${specverify_pages}"
  OUTPUT_VARIABLE specverify_page_programs COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" specverify_page_programs "${specverify_page_programs}")
target_include_directories(specverify_flags INTERFACE "${specverify_pages}")

# Libraries of our own programs.
option(SPECVERIFY_LINK_COMPILED "Use session code of specverify::compiled instead of the headers" OFF)
add_library(specverify_dev INTERFACE)
target_link_libraries(specverify_dev INTERFACE specverify_flags)
if(SPECVERIFY_LINK_COMPILED)
  target_link_libraries(specverify_dev INTERFACE specverify::compiled)
endif()

# Links to header-only libraries of the build machine, because cross compilers do not search /usr/include.
set(SPECVERIFY_HOST_HEADERS "" CACHE STRING
  "Folders of /usr/include on the build machine that a cross build may use")
if(CMAKE_CROSSCOMPILING)
  file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/host_headers")
  foreach(folder IN LISTS SPECVERIFY_HOST_HEADERS)
    if(EXISTS "/usr/include/${folder}")
      file(CREATE_LINK "/usr/include/${folder}" "${PROJECT_BINARY_DIR}/host_headers/${folder}" SYMBOLIC)
    endif()
  endforeach()
  target_include_directories(specverify_flags SYSTEM INTERFACE "${PROJECT_BINARY_DIR}/host_headers")
  set(specverify_doctest_dir "${PROJECT_BINARY_DIR}/host_headers")
else()
  find_path(SPECVERIFY_DOCTEST_DIR doctest/doctest.h)
  set(specverify_doctest_dir "${SPECVERIFY_DOCTEST_DIR}")
endif()

# specverify_program(name source) adds a short program that is also a test.
function(specverify_program name source)
  add_executable(${name} "${source}")
  target_link_libraries(${name} PRIVATE specverify_dev)
endfunction()

# specverify_group(result files...) returns the files. If SPECVERIFY_GROUPED is on, it returns translation units of up
# to eight files instead, except for files that cannot be wrapped in a namespace (scripts/one_unit).
function(specverify_group result)
  if(NOT SPECVERIFY_GROUPED)
    set(${result} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  set(files)
  foreach(file IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH file)
    list(APPEND files "${file}")
  endforeach()
  execute_process(COMMAND perl "${PROJECT_SOURCE_DIR}/scripts/one_unit" --fits ${files}
    OUTPUT_VARIABLE fitting COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n]+" fitting "${fitting}")
  list(REMOVE_ITEM files ${fitting})
  list(LENGTH fitting count)
  set(begin 0)
  math(EXPR groups "(${count} + 7) / 8")
  while(begin LESS count)
    math(EXPR size "(${count} - ${begin} + ${groups} - 1) / ${groups}")
    list(SUBLIST fitting ${begin} ${size} group)
    math(EXPR begin "${begin} + ${size}")
    math(EXPR groups "${groups} - 1")
    specverify_one_unit(unit ${group})
    list(APPEND files "${unit}")
  endwhile()
  set(${result} ${files} PARENT_SCOPE)
endfunction()

# specverify_one_unit(result [--programs] files...) returns the translation unit that scripts/one_unit makes of the
# files. It is written again when a file changes.
function(specverify_one_unit result)
  string(MD5 name "${ARGN}")
  set(unit "${CMAKE_CURRENT_BINARY_DIR}/units/${name}.cpp")
  set(files ${ARGN})
  list(REMOVE_ITEM files --programs)
  add_custom_command(OUTPUT "${unit}" DEPENDS ${files} "${PROJECT_SOURCE_DIR}/scripts/one_unit"
    COMMAND perl "${PROJECT_SOURCE_DIR}/scripts/one_unit" ${ARGN} > "${unit}" COMMENT "" VERBATIM)
  file(MAKE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/units")
  set(${result} "${unit}" PARENT_SCOPE)
endfunction()

# specverify_level(target level) sets the optimization level of a program, unless the CI configuration has a level.
function(specverify_level target level)
  if(specverify_levels)
    target_compile_options(${target} PRIVATE -O${level})
  endif()
endfunction()

# specverify_precompiled(target level [header...]) precompiles these headers, then the library, at the level of the
# target. Level 2 is not precompiled, because it has too few translation units.
function(specverify_precompiled target level)
  if(NOT SPECVERIFY_PRECOMPILE OR level EQUAL 2)
    return()
  endif()
  set(headers specverify_headers_${level})
  if(ARGN)
    set(headers specverify_test_headers_${level})
  endif()
  if(NOT TARGET ${headers})
    add_library(${headers} OBJECT EXCLUDE_FROM_ALL "${PROJECT_SOURCE_DIR}/tests/support/empty.cpp")
    target_link_libraries(${headers} PRIVATE specverify_dev)
    specverify_level(${headers} ${level})
    target_precompile_headers(${headers} PRIVATE ${ARGN} <specverify/all.hpp> <array> <cmath> <string> <vector>)
  endif()
  target_precompile_headers(${target} REUSE_FROM ${headers})
endfunction()

specverify_level(specverify_compiled 1)
