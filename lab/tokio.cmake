# Peers: Tokio and crates with channels, if cargo is installed and can download them. Like Go, they are in a separate
# program, because Tokio's threads would otherwise run in the processes of all other cells. Without cargo or a network,
# or if the build fails, these peers count as not installed and the build continues.
set(tokio_found FALSE)
set(tokio_folder ${CMAKE_CURRENT_BINARY_DIR}/tokio)
set(tokio_program ${tokio_folder}/target/release/ekiden-lab-tokio)
find_program(lab_cargo cargo)
if(lab_cargo AND NOT CMAKE_CROSSCOMPILING)
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
foreach(crate tokio async-channel flume kanal crossbeam-channel)
  string(REPLACE "crossbeam-channel" crossbeam name ${crate})
  string(REPLACE "-" "_" name ${name})
  string(REPLACE tokio Tokio title ${crate})
  lab_peer(${name} "${title}" "${crate} (by cargo)" ${tokio_found})
  if(tokio_found)
    file(STRINGS peers/tokio/Cargo.toml crate_line REGEX "^${crate} = ")
    string(REGEX MATCH "[0-9]+[.][0-9]+[.][0-9]+" lab_peer_${name}_version "${crate_line}")
  endif()
endforeach()
