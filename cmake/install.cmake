# Install rules: headers, the CMake package (architecture independent) and a pkg-config file.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# A folder of GNUInstallDirs, as a pkg-config file writes it.
foreach(folder IN ITEMS INCLUDEDIR LIBDIR)
  set(specverify_pc_${folder} "${CMAKE_INSTALL_${folder}}")
  if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_${folder}}")
    set(specverify_pc_${folder} "\${prefix}/${CMAKE_INSTALL_${folder}}")
  endif()
endforeach()

set(specverify_cmake_dir "${CMAKE_INSTALL_DATADIR}/cmake/specverify")

install(TARGETS ${specverify_targets} EXPORT specverify_targets
  FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  FILE_SET c_headers DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  FILE_SET definitions DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT specverify_targets FILE specverify-targets.cmake NAMESPACE specverify::
  DESTINATION "${specverify_cmake_dir}")

# The compiled library is of one architecture, and so are its files.
if(SPECVERIFY_BUILD_C)
  install(TARGETS specverify_c specverify_c_static EXPORT specverify_c_targets
    INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
  install(EXPORT specverify_c_targets FILE specverify-c-targets.cmake NAMESPACE specverify::
    DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/specverify")
  # Its pkg-config file finds the prefix from where it lies itself, unless the folder of libraries is outside.
  set(specverify_c_prefix "${CMAKE_INSTALL_PREFIX}")
  if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
    file(RELATIVE_PATH specverify_c_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
    set(specverify_c_prefix "\${pcfiledir}/${specverify_c_prefix}")
  endif()
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

configure_file("${PROJECT_SOURCE_DIR}/cmake/specverify.pc.in" "${PROJECT_BINARY_DIR}/specverify.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/specverify.pc" DESTINATION "${CMAKE_INSTALL_DATADIR}/pkgconfig")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
