# ekiden_add_model(NAME SOURCE... [SECONDS N] [TIMEOUT N] [SURVIVORS FILE] [NO_MUTANTS])
#
# Builds NAME, a program of the models (EKIDEN_MODEL) in the sources. The checker replaces the standard library's atomics
# and threads. Registers two tests with CTest:
#   NAME           explores each model, for N seconds of processor time at most (default 10)
#   NAME: mutants  weakens each memory order that the models reach, and switches on each EKIDEN_MUTANT. Fails if no model
#                  notices a mutant that FILE does not explain. NO_MUTANTS omits this test
# CTest stops each test after TIMEOUT seconds of wall-clock time (default 1500).
# The program's --help lists the other options: a single model, replay, random search.
function(ekiden_add_model name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "NO_MUTANTS" "SECONDS;TIMEOUT;SURVIVORS" "")
  if(NOT arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "ekiden_add_model(${name}): no source is named")
  endif()
  if(NOT arg_SECONDS)
    set(arg_SECONDS 10)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 1500)
  endif()
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ekiden::check)
  target_compile_definitions(${name} PRIVATE EKIDEN_MODEL_ROOT="${PROJECT_SOURCE_DIR}")
  add_test(NAME ${name} COMMAND ${name} --seconds ${arg_SECONDS} --processes 1)
  set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT})
  if(NOT arg_NO_MUTANTS)
    if(arg_SURVIVORS)
      cmake_path(ABSOLUTE_PATH arg_SURVIVORS BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
      set(survivors --survivors ${arg_SURVIVORS})
    endif()
    add_test(NAME "${name}: mutants" COMMAND ${name} --mutants --processes 1 ${survivors})
    set_tests_properties("${name}: mutants" PROPERTIES TIMEOUT ${arg_TIMEOUT})
  endif()
endfunction()
