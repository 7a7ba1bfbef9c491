# Peer: Go, if its compiler is installed. It is a separate program, because its runtime would otherwise run in the
# processes of all other cells. Without the compiler, or if the build fails, the peer counts as not installed and the
# build continues.
set(go_found FALSE)
find_program(lab_go go)
if(lab_go AND NOT CMAKE_CROSSCOMPILING)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env GOTOOLCHAIN=local GOPROXY=off GOFLAGS=
                          ${lab_go} build -buildvcs=false -o ${CMAKE_CURRENT_BINARY_DIR}/ekiden-lab-go .
                  WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/peers/go TIMEOUT 180 RESULT_VARIABLE failed OUTPUT_QUIET
                  ERROR_FILE ${CMAKE_CURRENT_BINARY_DIR}/go.log)
  if(failed STREQUAL "0")
    set(go_found TRUE)
  else()
    message(STATUS "lab: go could not build its peer: see ${CMAKE_CURRENT_BINARY_DIR}/go.log")
  endif()
endif()
lab_peer(go "Go" "golang" ${go_found})
if(go_found)
  execute_process(COMMAND ${lab_go} env GOVERSION OUTPUT_VARIABLE lab_peer_go_version OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
file(GLOB lab_go_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/peers/go/*.go)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${lab_go_sources})
