# The files that `cmake --install` installs: the listed headers, the library, and its descriptions for CMake and
# pkg-config. Included by CMakeLists.txt. Off by default if ekiden is part of another project.
option(EKIDEN_INSTALL "Install the library, its public headers and its package files" ${PROJECT_IS_TOP_LEVEL})
if(NOT EKIDEN_INSTALL)
  return()
endif()

include(CMakePackageConfigHelpers)

install(TARGETS ekiden ekiden_parallel_scheduler EXPORT ekiden-targets
        FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

install(FILES adapter/std_execution/parallel_scheduler.cpp
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/ekiden/adapter/std_execution)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/ekiden)
install(EXPORT ekiden-targets NAMESPACE ekiden:: DESTINATION ${package_folder})
configure_package_config_file(ekiden-config.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/ekiden-config.cmake
                              INSTALL_DESTINATION ${package_folder})
# Before version 1.0 a new minor version may change the interface.
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/ekiden-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/ekiden-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/ekiden-config-version.cmake
              ekiden-module.cmake ekiden.cppm
        DESTINATION ${package_folder})

# GDB finds the pretty printers by the name of the shared library. The prefix is that of `cmake --install`.
# LLDB uses the same printers, by the second file.
install(FILES gdb/ekiden-gdb.py gdb/ekiden_lldb.py DESTINATION ${CMAKE_INSTALL_DATADIR}/ekiden)
if(BUILD_SHARED_LIBS)
  install(FILES gdb/ekiden-gdb.py RENAME $<TARGET_FILE_NAME:ekiden>-gdb.py
          DESTINATION "${CMAKE_INSTALL_DATADIR}/gdb/auto-load\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}")
endif()

# The file finds the prefix from its own location, so that `cmake --install --prefix` may choose another one.
set(pkgconfig_folder ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX}/${pkgconfig_folder}
           OUTPUT_VARIABLE pkgconfig_to_prefix)
set(pkgconfig_definitions "$<$<BOOL:${EKIDEN_LOCK_CHECKS}>: -DEKIDEN_LOCK_CHECKS=1>")
configure_file(ekiden.pc.in ${CMAKE_CURRENT_BINARY_DIR}/ekiden.pc.in @ONLY)
# A file for each configuration; the one that is installed last describes the library there.
set(described ${CMAKE_CURRENT_BINARY_DIR}/described/$<CONFIG>)
file(GENERATE OUTPUT ${described}/ekiden.pc INPUT ${CMAKE_CURRENT_BINARY_DIR}/ekiden.pc.in)
install(FILES ${described}/ekiden.pc DESTINATION ${pkgconfig_folder})
