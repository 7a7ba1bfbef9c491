# Finds implementations of std::execution: as a CMake package, or in the folder that an option names.
set(EKIDEN_STDEXEC "" CACHE PATH "The sources of NVIDIA stdexec, for the tests of the adapter and the lab")
set(EKIDEN_BEMAN "" CACHE PATH "The sources of Beman Execution, for the tests of the adapter")
include(CheckCXXSourceCompiles)

# ekiden_find_senders(<name> <folder> <header> <package> <target of the package> <C++ standard> <CMake version>)
# Defines the target ekiden_<name>, and sets EKIDEN_COMPILES_<name> to true, if the implementation is found and this
# compiler can compile it. Otherwise sets ekiden_<name>_missing to the reason. An older CMake than the package needs does
# not search for the package, because the package would end the configuration.
function(ekiden_find_senders name folder header package target standard needed)
  string(TOUPPER ${name} option)
  if(NOT TARGET ekiden_${name})
    if(folder)
      add_library(ekiden_${name} INTERFACE IMPORTED GLOBAL)
      target_include_directories(ekiden_${name} SYSTEM INTERFACE ${folder}/include)
    elseif(CMAKE_VERSION VERSION_GREATER_EQUAL needed)
      find_package(${package} QUIET CONFIG GLOBAL)
      if(TARGET ${target})
        add_library(ekiden_${name} INTERFACE IMPORTED GLOBAL)
        target_link_libraries(ekiden_${name} INTERFACE ${target})
      endif()
    endif()
  endif()
  set(missing "${name} is not installed; EKIDEN_${option} names its folder, and a package needs CMake ${needed}")
  if(NOT TARGET ekiden_${name})
    unset(EKIDEN_COMPILES_${name} CACHE) # from an earlier configuration, which has found it
  elseif(NOT CMAKE_CROSSCOMPILING)
    set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY) # only compiles
    set(CMAKE_CXX_STANDARD ${standard})
    set(CMAKE_REQUIRED_LIBRARIES ekiden_${name})
    check_cxx_source_compiles("#include <${header}>\nint main() { return 0; }" EKIDEN_COMPILES_${name})
    set(missing "this compiler cannot compile ${name}")
  endif()
  set(ekiden_${name}_missing "${missing}" PARENT_SCOPE)
endfunction()

macro(ekiden_find_stdexec)
  ekiden_find_senders(stdexec "${EKIDEN_STDEXEC}" stdexec/execution.hpp stdexec STDEXEC::stdexec 20 3.28)
endmacro()
macro(ekiden_find_beman)
  ekiden_find_senders(beman "${EKIDEN_BEMAN}" beman/execution/execution.hpp beman.execution beman::execution 23
                      3.28)
endmacro()
