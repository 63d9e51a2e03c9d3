# The C library (docs/c.md).
#   specverify::c          shared; exports only the functions of src/c/functions.def, with one symbol version
#   specverify::c_static   an archive with the same functions; the program must also link to the C++ run-time library
set(specverify_c_sources dispatch.cpp common.cpp pair.cpp core.cpp)
set(specverify_c_level_sources edge.cpp cloud.cpp core_rows.cpp)
list(TRANSFORM specverify_c_sources PREPEND "${PROJECT_SOURCE_DIR}/src/c/")
list(TRANSFORM specverify_c_level_sources PREPEND "${PROJECT_SOURCE_DIR}/src/c/")

set(specverify_c_levels "")
if(NOT SPECVERIFY_C_EVERY_LEVEL)
  set(specverify_c_levels BASELINE)
endif()
add_library(specverify_c_flags INTERFACE)
target_compile_options(specverify_c_flags INTERFACE ${SPECVERIFY_DEV_FLAGS}
  $<$<CXX_COMPILER_ID:GNU,Clang>:-fvisibility=hidden -fvisibility-inlines-hidden>)
specverify_harden(specverify_c_flags)
specverify_levels(specverify_c_levels ${specverify_c_levels} SOURCES ${specverify_c_level_sources}
  LINK specverify_c_flags)

add_library(specverify_c_objects OBJECT ${specverify_c_sources})
target_link_libraries(specverify_c_objects PRIVATE specverify specverify_c_flags)
target_compile_definitions(specverify_c_objects PRIVATE SPECVERIFY_C_EXPORTS
  $<TARGET_PROPERTY:specverify_c_levels,INTERFACE_COMPILE_DEFINITIONS>)
set_target_properties(specverify_c_objects PROPERTIES POSITION_INDEPENDENT_CODE ON)

file(STRINGS "${PROJECT_SOURCE_DIR}/src/c/functions.def" specverify_c_symbols REGEX "^SPECVERIFY_C_")
list(TRANSFORM specverify_c_symbols REPLACE "^.*[( ]([a-z_]+)\\)$" "specverify_\\1")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/c/functions.def")
list(JOIN specverify_c_symbols ";\n    " specverify_c_globals)
set(specverify_c_version "${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}")
file(GENERATE OUTPUT "${PROJECT_BINARY_DIR}/specverify_c.map" CONTENT
  "SPECVERIFY_${specverify_c_version} {\n  global:\n    ${specverify_c_globals};\n  local:\n    *;\n};\n")

add_library(specverify_c SHARED $<TARGET_OBJECTS:specverify_c_objects>)
add_library(specverify::c ALIAS specverify_c)
target_link_libraries(specverify_c PRIVATE $<BUILD_INTERFACE:specverify_c_levels>)
specverify_harden(specverify_c)
target_link_options(specverify_c PRIVATE ${SPECVERIFY_DEV_FLAGS})
if(UNIX AND NOT APPLE)
  target_link_options(specverify_c PRIVATE "-Wl,--version-script=${PROJECT_BINARY_DIR}/specverify_c.map"
    -Wl,--no-undefined-version -Wl,-z,defs)
  set_target_properties(specverify_c PROPERTIES LINK_DEPENDS "${PROJECT_BINARY_DIR}/specverify_c.map")
endif()
set_target_properties(specverify_c PROPERTIES LINKER_LANGUAGE CXX VERSION ${PROJECT_VERSION}
  SOVERSION ${specverify_c_version} EXPORT_NAME c)

add_library(specverify_c_static STATIC $<TARGET_OBJECTS:specverify_c_objects>)
add_library(specverify::c_static ALIAS specverify_c_static)
get_target_property(specverify_c_level_objects specverify_c_levels SOURCES)
target_sources(specverify_c_static PRIVATE ${specverify_c_level_objects})
add_dependencies(specverify_c_static specverify_c_levels)
set(specverify_c_runtime stdc++)  # the C++ run-time library for a program in C
if("c++" IN_LIST CMAKE_CXX_IMPLICIT_LINK_LIBRARIES)
  set(specverify_c_runtime c++)
endif()
target_link_libraries(specverify_c_static INTERFACE $<$<NOT:$<LINK_LANGUAGE:CXX>>:${specverify_c_runtime}> m)
set_target_properties(specverify_c_static PROPERTIES LINKER_LANGUAGE CXX OUTPUT_NAME specverify_c
  EXPORT_NAME c_static)

foreach(target IN ITEMS specverify_c specverify_c_static)
  target_include_directories(${target} INTERFACE "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>")
endforeach()
