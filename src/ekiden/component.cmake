# ekiden_component(NAME HEADERS ... [DETAIL_HEADERS ...] SOURCES ... LIBRARIES ... FIND COMMAND...)
#
# Adds a part of ekiden that needs another library, as a library of its own: `ekiden_NAME`, with the target
# `ekiden::NAME`. Programs get it with find_package(ekiden COMPONENTS NAME). All files are relative to the folder of
# the part, which calls this function. The header of the whole part, src/ekiden/NAME.hpp, is added.
#   HEADERS         public headers
#   DETAIL_HEADERS  private headers that are installed, because public headers include them
#   SOURCES         sources
#   LIBRARIES       targets that the part links
#   FIND            the commands that find these targets for a program, such as "find_dependency(PostgreSQL)"
# The rules of tools/rules read the lists of headers from the call.
function(ekiden_component name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "HEADERS;DETAIL_HEADERS;SOURCES;LIBRARIES;FIND")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_HEADERS OR NOT arg_SOURCES OR NOT arg_LIBRARIES OR NOT arg_FIND)
    message(FATAL_ERROR "ekiden_component(${name}): HEADERS, SOURCES, LIBRARIES and FIND are needed; "
                        "unknown: '${arg_UNPARSED_ARGUMENTS}'")
  endif()
  set(target ekiden_${name})
  set(headers ${arg_HEADERS} ${arg_DETAIL_HEADERS})
  list(TRANSFORM headers PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  list(PREPEND headers ${PROJECT_SOURCE_DIR}/src/ekiden/${name}.hpp)
  add_library(${target} ${arg_SOURCES})
  add_library(ekiden::${name} ALIAS ${target})
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/src FILES ${headers})
  target_link_libraries(${target} PUBLIC ekiden::ekiden ${arg_LIBRARIES})
  set_target_properties(${target} PROPERTIES VERSION ${PROJECT_VERSION} EXPORT_NAME ${name}
                                             SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
                                             POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fno-semantic-interposition>)
  ekiden_warnings(${target} -Wconversion -Wsign-conversion)
  set_property(GLOBAL APPEND PROPERTY EKIDEN_COMPONENT_HEADERS ${headers}) # for the tests of installed headers

  if(NOT EKIDEN_INSTALL)
    return()
  endif()
  set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/ekiden)
  install(TARGETS ${target} EXPORT ekiden-${name}-targets
          FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
          RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(EXPORT ekiden-${name}-targets NAMESPACE ekiden:: DESTINATION ${package_folder})
  # ekiden-config.cmake includes this file if a program asks for the component. find_dependency() leaves it if the
  # program's machine lacks the library.
  list(JOIN arg_FIND "\n" find)
  set(description ${CMAKE_CURRENT_BINARY_DIR}/ekiden-${name}.cmake)
  file(CONFIGURE OUTPUT ${description} @ONLY CONTENT [[
@find@
include("${CMAKE_CURRENT_LIST_DIR}/ekiden-@name@-targets.cmake")
set(ekiden_@name@_FOUND TRUE)
]])
  install(FILES ${description} DESTINATION ${package_folder})
endfunction()
