# Peer: Tokio, where cargo is found and can get it: a program of its own, as Go's is, for its threads would be guests in
# every other cell's process. Without cargo, without a network, or if anything else goes wrong, it counts as not installed
# and the build goes on.
set(tokio_found FALSE)
set(tokio_folder ${CMAKE_CURRENT_BINARY_DIR}/tokio)
set(tokio_program ${tokio_folder}/target/release/ekiden-lab-tokio)
find_program(lab_cargo cargo)
if(lab_cargo)
  file(GLOB tokio_files CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/peers/tokio
       ${CMAKE_CURRENT_SOURCE_DIR}/peers/tokio/Cargo.* ${CMAKE_CURRENT_SOURCE_DIR}/peers/tokio/src/*.rs)
  foreach(file ${tokio_files})
    configure_file(peers/tokio/${file} ${tokio_folder}/${file} COPYONLY)
  endforeach()
  execute_process(COMMAND ${CMAKE_COMMAND} -E env CARGO_NET_RETRY=0 CARGO_HTTP_TIMEOUT=10 ${lab_cargo_settings}
                          ${lab_cargo} build --release --quiet --locked --target-dir ${tokio_folder}/target
                  WORKING_DIRECTORY ${tokio_folder} TIMEOUT 600 RESULT_VARIABLE failed OUTPUT_QUIET
                  ERROR_FILE ${tokio_folder}/cargo.log)
  if(failed STREQUAL "0" AND EXISTS ${tokio_program})
    set(tokio_found TRUE)
    file(COPY ${tokio_program} DESTINATION ${CMAKE_CURRENT_BINARY_DIR})
  else()
    message(STATUS "lab: cargo could not build the peer Tokio: see ${tokio_folder}/cargo.log")
  endif()
endif()
lab_peer(tokio "Tokio" "tokio (by cargo)" ${tokio_found})
if(tokio_found)
  file(STRINGS peers/tokio/Cargo.toml tokio_line REGEX "^tokio = ")
  string(REGEX MATCH "[0-9]+[.][0-9]+[.][0-9]+" lab_peer_tokio_version "${tokio_line}")
endif()
