# Peer: rayon, if cargo is installed and can download it. Without cargo or a network, or if the build fails, the peer
# counts as not installed and the build continues.
set(rayon_found FALSE)
set(rayon_folder ${CMAKE_CURRENT_BINARY_DIR}/rayon)
set(rayon_library ${rayon_folder}/target/release/liblab_rayon.a)
find_program(lab_cargo cargo)
if(lab_cargo AND NOT CMAKE_CROSSCOMPILING)
  foreach(file Cargo.toml src/lib.rs)
    configure_file(peers/rayon/${file} ${rayon_folder}/${file} COPYONLY)
  endforeach()
  execute_process(COMMAND ${CMAKE_COMMAND} -E env CARGO_NET_RETRY=0 CARGO_HTTP_TIMEOUT=10 ${lab_cargo_settings}
                          ${lab_cargo} build --release --quiet --target-dir ${rayon_folder}/target
                  WORKING_DIRECTORY ${rayon_folder} TIMEOUT 180 RESULT_VARIABLE failed OUTPUT_QUIET
                  ERROR_FILE ${rayon_folder}/cargo.log)
  if(failed STREQUAL "0" AND EXISTS ${rayon_library})
    set(rayon_found TRUE)
    list(APPEND lab_peer_libraries ${rayon_library} ${CMAKE_DL_LIBS})
  else()
    message(STATUS "lab: cargo could not build rayon: see ${rayon_folder}/cargo.log")
  endif()
endif()
lab_peer(rayon "rayon" "rayon (by cargo)" ${rayon_found})
if(rayon_found)
  file(STRINGS peers/rayon/Cargo.toml rayon_line REGEX "^rayon = ")
  string(REGEX REPLACE "[^0-9.]" "" lab_peer_rayon_version "${rayon_line}")
endif()
