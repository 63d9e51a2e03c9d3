# Install rules: headers, the CMake package (architecture independent) and a pkg-config file.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Returns a folder of GNUInstallDirs in the form of a pkg-config file.
foreach(folder IN ITEMS INCLUDEDIR LIBDIR)
  set(specverify_pc_${folder} "${CMAKE_INSTALL_${folder}}")
  if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_${folder}}")
    set(specverify_pc_${folder} "\${prefix}/${CMAKE_INSTALL_${folder}}")
  endif()
endforeach()

# Returns the prefix for a pkg-config file in `folder`: relative to the file, so that an installation can be moved,
# unless `folder` is outside the prefix.
function(specverify_pc_prefix result folder)
  set(prefix "${CMAKE_INSTALL_PREFIX}")
  if(NOT IS_ABSOLUTE "${folder}")
    file(RELATIVE_PATH above "/${folder}/pkgconfig" "/")
    string(REGEX REPLACE "/$" "" prefix "\${pcfiledir}/${above}")
  endif()
  set(${result} "${prefix}" PARENT_SCOPE)
endfunction()

set(specverify_cmake_dir "${CMAKE_INSTALL_DATADIR}/cmake/specverify")

install(TARGETS ${specverify_targets} EXPORT specverify_targets
  FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  FILE_SET c_headers DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  FILE_SET definitions DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT specverify_targets FILE specverify-targets.cmake NAMESPACE specverify::
  DESTINATION "${specverify_cmake_dir}")
# CMake 3.25 adds the prefix even to an absolute folder of a file set: ${_IMPORT_PREFIX}//nix/store/...
if(IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  install(CODE "
    set(specverify_dir \"${specverify_cmake_dir}\")
    cmake_path(ABSOLUTE_PATH specverify_dir BASE_DIRECTORY \"\${CMAKE_INSTALL_PREFIX}\" OUTPUT_VARIABLE targets)
    set(targets \"\$ENV{DESTDIR}\${targets}/specverify-targets.cmake\")
    file(READ \"\${targets}\" text)
    string(REPLACE \"\\\${_IMPORT_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}\" \"${CMAKE_INSTALL_INCLUDEDIR}\"
      text \"\${text}\")
    file(WRITE \"\${targets}\" \"\${text}\")")
endif()

# The compiled library is for one architecture, so its files depend on the architecture.
if(SPECVERIFY_BUILD_C)
  install(TARGETS specverify_c specverify_c_static EXPORT specverify_c_targets
    INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
  install(EXPORT specverify_c_targets FILE specverify-c-targets.cmake NAMESPACE specverify::
    DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/specverify")
  specverify_pc_prefix(specverify_c_prefix "${CMAKE_INSTALL_LIBDIR}")
  configure_file("${PROJECT_SOURCE_DIR}/cmake/specverify_c.pc.in" "${PROJECT_BINARY_DIR}/specverify_c.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/specverify_c.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endif()

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/specverify-config.cmake.in"
  "${PROJECT_BINARY_DIR}/specverify-config.cmake" INSTALL_DESTINATION "${specverify_cmake_dir}"
  PATH_VARS CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/specverify-config-version.cmake"
  COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES "${PROJECT_BINARY_DIR}/specverify-config.cmake" "${PROJECT_BINARY_DIR}/specverify-config-version.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/specverify-levels.cmake" "${PROJECT_SOURCE_DIR}/cmake/specverify-thrust.cmake"
  DESTINATION "${specverify_cmake_dir}")

specverify_pc_prefix(specverify_prefix "${CMAKE_INSTALL_DATADIR}")
configure_file("${PROJECT_SOURCE_DIR}/cmake/specverify.pc.in" "${PROJECT_BINARY_DIR}/specverify.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/specverify.pc" DESTINATION "${CMAKE_INSTALL_DATADIR}/pkgconfig")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
