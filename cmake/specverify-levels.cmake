# Selects code for the CPU at run time (docs/algorithms/level.md).
#
# specverify_levels(NAME [BASELINE] SOURCES file... [LINK target...])
#   Makes a static library NAME. It compiles the sources once per vector level of x86-64, each with a separate table
#   (SPECVERIFY_LEVEL_TABLE in specverify/core/level.hpp). On other CPUs, without GNU binutils, with a multi-config
#   generator, or with BASELINE, it compiles only the baseline. LINK: targets whose headers and flags the sources need,
#   in addition to specverify::specverify.
function(specverify_levels name)
  cmake_parse_arguments(PARSE_ARGV 1 given "BASELINE" "" "SOURCES;LINK")
  if(NOT given_SOURCES OR given_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "specverify_levels(NAME [BASELINE] SOURCES file... [LINK target...])")
  endif()
  set(levels baseline)
  get_property(several GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
  find_program(SPECVERIFY_GNU_LD NAMES ld.bfd ld DOC "GNU ld, for specverify_levels")
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$" AND CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang"
      AND CMAKE_OBJCOPY AND SPECVERIFY_GNU_LD AND NOT several AND NOT APPLE AND NOT WIN32 AND NOT given_BASELINE)
    execute_process(COMMAND "${SPECVERIFY_GNU_LD}" --help OUTPUT_VARIABLE help ERROR_QUIET)
    if(help MATCHES "force-group-allocation")
      list(APPEND levels avx2 avx512 avx512_ifma)
    endif()
  endif()
  list(LENGTH levels count)
  if(count EQUAL 1)
    message(STATUS "specverify_levels(${name}): only the baseline")
  endif()
  set(flags_baseline "")
  set(flags_avx2 -march=x86-64-v3)
  set(flags_avx512 -march=x86-64-v4)
  set(flags_avx512_ifma -march=x86-64-v4 -mavx512ifma -mavx512vbmi -mavx512vbmi2)
  set(objects "")
  foreach(level IN LISTS levels)
    set(target "${name}_${level}_objects")
    add_library(${target} OBJECT ${given_SOURCES})
    target_link_libraries(${target} PRIVATE specverify::specverify ${given_LINK})
    # Intermediate code, and symbols that are unique in a whole program, cannot be made local, so both are turned off.
    target_compile_options(${target} PRIVATE ${flags_${level}}
      $<$<CXX_COMPILER_ID:GNU,Clang>:-fno-lto> $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)
    target_compile_definitions(${target} PRIVATE SPECVERIFY_THIS_LEVEL=${level}
      $<$<NOT:$<EQUAL:${count},1>>:SPECVERIFY_EVERY_LEVEL>)
    set_target_properties(${target} PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF POSITION_INDEPENDENT_CODE ON)
    if(level STREQUAL "baseline")
      list(APPEND objects $<TARGET_OBJECTS:${target}>)
      continue()
    endif()
    # The table is the only global symbol of the object. Otherwise the linker could use an inline function of this
    # object in the baseline.
    set(object "${CMAKE_CURRENT_BINARY_DIR}/${name}_${level}.o")
    add_custom_command(OUTPUT "${object}"
      COMMAND "${SPECVERIFY_GNU_LD}" -r --force-group-allocation -o "${object}" $<TARGET_OBJECTS:${target}>
      COMMAND "${CMAKE_OBJCOPY}" --keep-global-symbol=${name}_${level} "${object}"
      DEPENDS ${target} $<TARGET_OBJECTS:${target}> COMMAND_EXPAND_LISTS VERBATIM)
    set_source_files_properties("${object}" PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
    list(APPEND objects "${object}")
  endforeach()
  add_library(${name} STATIC ${objects})
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(${name} PUBLIC specverify::specverify ${given_LINK})
  if(count GREATER 1)
    target_compile_definitions(${name} INTERFACE SPECVERIFY_EVERY_LEVEL)
  endif()
endfunction()
