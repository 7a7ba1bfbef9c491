# Installs the files that `find_package(ekiden COMPONENTS check)` finds. The engine's headers have their own folder, which
# is in the include path of programs of models only. Included by check/CMakeLists.txt.
if(NOT EKIDEN_INSTALL)
  return()
endif()
include(GNUInstallDirs)
set(EKIDEN_CHECK_HEADERS access.hpp asymmetric_fence.hpp atomic.hpp clock.hpp futex.hpp model.hpp mutant.hpp mutex.hpp
  standard_library.hpp thread.hpp)
list(TRANSFORM EKIDEN_CHECK_HEADERS PREPEND engine/)
install(FILES ${EKIDEN_CHECK_HEADERS} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/ekiden-check/check/engine)
install(TARGETS ekiden_check EXPORT ekiden-check-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT ekiden-check-targets NAMESPACE ekiden:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ekiden)
install(FILES ekiden-add-model.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ekiden)
