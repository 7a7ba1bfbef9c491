# The toolchain for macOS: the clang of the package ziglang of PyPI, which contains the headers of the system, its own
# libc++, and a linker. `./dev macos` installs the package. The name of the target is PROCESSOR-macos.OLDEST_SYSTEM.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES EKIDEN_MACOS_TARGET EKIDEN_MACOS_TOOLS)
set(CMAKE_SYSTEM_NAME Darwin)
string(REGEX REPLACE "-.*" "" CMAKE_SYSTEM_PROCESSOR "${EKIDEN_MACOS_TARGET}")
file(GLOB zig ${CMAKE_CURRENT_LIST_DIR}/../build/macos-venv/lib/python3*/site-packages/ziglang/zig)
if(NOT zig)
  message(FATAL_ERROR "ziglang is not installed in build/macos-venv: call ./dev macos")
endif()
# In code that is not optimized, zig would add the undefined behavior sanitizer.
set(CMAKE_CXX_COMPILER ${zig} c++ -target ${EKIDEN_MACOS_TARGET} -fno-sanitize=undefined)

if(NOT EKIDEN_MACOS_TOOLS) # a test of the compiler gets the folder of the build
  set(EKIDEN_MACOS_TOOLS ${CMAKE_BINARY_DIR}/macos_tools)
  foreach(tool ar ranlib) # CMake expects the name of a program alone
    file(WRITE ${EKIDEN_MACOS_TOOLS}/${tool} "#!/bin/sh\nexec ${zig} ${tool} \"$@\"\n")
    file(CHMOD ${EKIDEN_MACOS_TOOLS}/${tool} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  endforeach()
  # A public header of macOS 14.4 that zig 0.17 lacks. The linker of zig knows the functions.
  file(WRITE ${EKIDEN_MACOS_TOOLS}/include/os/os_sync_wait_on_address.h [[
#pragma once
#include <Availability.h>
#include <os/base.h>
#include <os/clock.h>
#include <stddef.h>
#include <stdint.h>
OS_OPTIONS(os_sync_wait_on_address_flags, uint32_t, OS_SYNC_WAIT_ON_ADDRESS_NONE = 0, OS_SYNC_WAIT_ON_ADDRESS_SHARED = 1);
OS_OPTIONS(os_sync_wake_by_address_flags, uint32_t, OS_SYNC_WAKE_BY_ADDRESS_NONE = 0, OS_SYNC_WAKE_BY_ADDRESS_SHARED = 1);
__BEGIN_DECLS
__API_AVAILABLE(macos(14.4)) OS_EXPORT OS_NOTHROW OS_NONNULL_ALL
int os_sync_wait_on_address(void *, uint64_t, size_t, os_sync_wait_on_address_flags_t);
__API_AVAILABLE(macos(14.4)) OS_EXPORT OS_NOTHROW OS_NONNULL_ALL
int os_sync_wait_on_address_with_timeout(void *, uint64_t, size_t, os_sync_wait_on_address_flags_t, os_clockid_t, uint64_t);
__API_AVAILABLE(macos(14.4)) OS_EXPORT OS_NOTHROW OS_NONNULL_ALL
int os_sync_wake_by_address_any(void *, size_t, os_sync_wake_by_address_flags_t);
__API_AVAILABLE(macos(14.4)) OS_EXPORT OS_NOTHROW OS_NONNULL_ALL
int os_sync_wake_by_address_all(void *, size_t, os_sync_wake_by_address_flags_t);
__END_DECLS
]])
endif()
set(CMAKE_AR ${EKIDEN_MACOS_TOOLS}/ar)
set(CMAKE_RANLIB ${EKIDEN_MACOS_TOOLS}/ranlib)
set(CMAKE_INSTALL_NAME_TOOL ${EKIDEN_MACOS_TOOLS}/ar) # only an installation calls it
# In zig 0.17, <cfloat> has no effect after <cmath>, so it comes first.
set(CMAKE_CXX_FLAGS_INIT "-isystem ${EKIDEN_MACOS_TOOLS}/include -include cfloat")

include(${CMAKE_CURRENT_LIST_DIR}/header_only.cmake)
