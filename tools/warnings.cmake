# The one place that says with which warnings this repository is compiled, and when a warning is an error.

# Two compilers are pinned for that: g++ 12, as in Debian 12, and clang 19. What another one warns of, newer or older, is
# told and stops nobody.
# ekiden_error_on_warning(RESULT COMPILER_ID VERSION): sets RESULT to -Werror for these two, else to nothing.
function(ekiden_error_on_warning result id version)
  set(${result} "" PARENT_SCOPE)
  if(id STREQUAL "GNU" AND version MATCHES "^12(\\.|$)" OR id STREQUAL "Clang" AND version MATCHES "^19(\\.|$)")
    set(${result} -Werror PARENT_SCOPE)
  endif()
endfunction()

# ekiden_warnings(TARGET [FLAG...]): TARGET's own sources are compiled with the warnings of the project and FLAG...
function(ekiden_warnings target)
  if(EKIDEN_WARNINGS)
    ekiden_error_on_warning(error ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION})
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow ${ARGN} ${error})
  endif()
endfunction()
