# The toolchain for Windows: g++ of MinGW-w64.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR AMD64)
set(CMAKE_CXX_COMPILER x86_64-w64-mingw32-g++-posix)
set(CMAKE_RC_COMPILER x86_64-w64-mingw32-windres)

include(${CMAKE_CURRENT_LIST_DIR}/header_only.cmake)
list(APPEND CMAKE_FIND_ROOT_PATH /usr/x86_64-w64-mingw32)

# std::atomic::wait() of g++ 12 loses wake-ups on systems without futexes, and std::latch and the destructor of
# std::stop_callback with it: the thread compares the value, and then sleeps without the lock in between. The build uses
# a copy of the header that compares the value under the lock.
set(EKIDEN_REPAIRED ${CMAKE_BINARY_DIR}/repaired)
if(NOT CMAKE_PROJECT_NAME STREQUAL "CMAKE_TRY_COMPILE" AND NOT EXISTS ${EKIDEN_REPAIRED})
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=include/c++/bits/atomic_wait.h
                  OUTPUT_VARIABLE header OUTPUT_STRIP_TRAILING_WHITESPACE)
  file(READ ${header} text)
  string(REPLACE "\t    lock_guard<mutex> __l(_M_mtx);\n\t    _M_cv.wait(_M_mtx);\n"
    "\t    lock_guard<mutex> __l(_M_mtx);\n\t    __atomic_load(__addr, &__val, __ATOMIC_SEQ_CST);\n\t    if (__val == __old)\n\t      _M_cv.wait(_M_mtx);\n" text "${text}")
  string(REPLACE "\tif (__all)\n\t  _M_cv.notify_all();" "\t{ lock_guard<mutex> __l(_M_mtx); }\n\tif (__all)\n\t  _M_cv.notify_all();" text "${text}")
  file(WRITE ${EKIDEN_REPAIRED}/bits/atomic_wait.h "${text}")
endif()
set(CMAKE_CXX_FLAGS_INIT "-isystem ${EKIDEN_REPAIRED}")
