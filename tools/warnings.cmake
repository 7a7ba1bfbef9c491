# This file alone defines the warnings of this repository, and when a warning is an error.

# Two compilers are pinned: g++ 12, as in Debian 12, and clang 19. Warnings of other compilers are printed, but are not
# errors.
# ekiden_error_on_warning(RESULT COMPILER_ID VERSION): sets RESULT to -Werror for these two compilers, and to nothing
# for others.
function(ekiden_error_on_warning result id version)
  set(${result} "" PARENT_SCOPE)
  if(id STREQUAL "GNU" AND version MATCHES "^12(\\.|$)" OR id STREQUAL "Clang" AND version MATCHES "^19(\\.|$)")
    set(${result} -Werror PARENT_SCOPE)
  endif()
endfunction()

if(EKIDEN_WARNINGS AND CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-Wno-subobject-linkage) # g++ takes a source that another file includes for a header
  add_compile_options(-Wno-maybe-uninitialized) # in large pieces, g++ 12 warns of std::stop_callback
endif()

# ekiden_warnings(TARGET [FLAG...]): compiles TARGET's own sources with the warnings of the project and FLAG...
function(ekiden_warnings target)
  if(EKIDEN_WARNINGS)
    ekiden_error_on_warning(error ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION})
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow ${ARGN} ${error})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 22)
      target_compile_options(${target} PRIVATE -Wno-c2y-extensions) # doctest uses __COUNTER__
    endif()
  endif()
endfunction()
