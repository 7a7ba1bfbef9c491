# Runs the portfile without vcpkg: cmake -D PLACE=FOLDER -P by_hand.cmake. It replaces vcpkg's functions by what their
# documentation says, as far as this port needs it.
cmake_minimum_required(VERSION 3.25)
set(PORT ekiden)
set(FEATURES core checker)
set(CURRENT_PACKAGES_DIR ${PLACE}/packages)

function(vcpkg_check_features)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "OUT_FEATURE_OPTIONS" "FEATURES")
  list(GET arg_FEATURES 0 feature)
  list(GET arg_FEATURES 1 option)
  set(value OFF)
  if(feature IN_LIST FEATURES)
    set(value ON)
  endif()
  set(${arg_OUT_FEATURE_OPTIONS} -D${option}=${value} PARENT_SCOPE)
endfunction()

function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS")
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${arg_SOURCE_PATH} -B ${PLACE}/build -G Ninja -DCMAKE_BUILD_TYPE=Release
                          -DBUILD_SHARED_LIBS=OFF -DCMAKE_UNITY_BUILD=ON -DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR} ${arg_OPTIONS}
                  COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(vcpkg_cmake_install)
  execute_process(COMMAND ${CMAKE_COMMAND} --build ${PLACE}/build --target install COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# Moves lib/cmake/ekiden to share/ekiden, which is one folder closer to the prefix.
function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "PACKAGE_NAME;CONFIG_PATH" "")
  set(folder ${CURRENT_PACKAGES_DIR}/share/${arg_PACKAGE_NAME})
  file(COPY ${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}/ DESTINATION ${folder})
  file(REMOVE_RECURSE ${CURRENT_PACKAGES_DIR}/lib/cmake)
  file(GLOB descriptions ${folder}/*.cmake)
  foreach(file ${descriptions})
    file(READ ${file} text)
    string(REPLACE "/../../../" "/../../" text "${text}")
    string(REPLACE "get_filename_component(_IMPORT_PREFIX \"\${CMAKE_CURRENT_LIST_FILE}\" PATH)"
                   "set(_IMPORT_PREFIX \"\${CMAKE_CURRENT_LIST_DIR}/x\")" text "${text}")
    file(WRITE ${file} "${text}")
  endforeach()
endfunction()

function(vcpkg_fixup_pkgconfig)
  if(NOT EXISTS ${CURRENT_PACKAGES_DIR}/lib/pkgconfig/ekiden.pc)
    message(FATAL_ERROR "there is no lib/pkgconfig/ekiden.pc")
  endif()
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
  file(INSTALL ${arg_FILE_LIST} DESTINATION ${CURRENT_PACKAGES_DIR}/share/${PORT} RENAME copyright)
endfunction()

include(${CMAKE_CURRENT_LIST_DIR}/ports/ekiden/portfile.cmake)
