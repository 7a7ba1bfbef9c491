# Adds the target ekiden::module, for programs with `import ekiden;`. The module is compiled in the program's own build, because
# compiled interfaces of modules do not work with another compiler or other flags.
if(NOT TARGET ekiden::module)
  add_library(ekiden_module STATIC)
  target_sources(ekiden_module PUBLIC FILE_SET CXX_MODULES BASE_DIRS ${CMAKE_CURRENT_LIST_DIR}
                                      FILES ${CMAKE_CURRENT_LIST_DIR}/ekiden.cppm)
  target_link_libraries(ekiden_module PUBLIC ekiden::ekiden)
  target_compile_features(ekiden_module PUBLIC cxx_std_20)
  add_library(ekiden::module ALIAS ekiden_module)
endif()
