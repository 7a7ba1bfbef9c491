# What cannot be measured on a system, and why. The lab shows these rows as not applicable, with the reason. A file
# that only helps such rows has the reason "no row".
set(lab_not_on_windows
  "allocations:.*=a library that counts allocations cannot be loaded first on Windows"
  "kafka:.*=the broker of this experiment is started by a shell script"
  ".*:(thread_per_request|thread_per_task|std_async)=a thread that starts while others end may lack its function, as seen in Wine"
  "lock-order:mcs=the atomic waits of MinGW-w64 share a condition variable, so each unlock wakes all 5,000 threads"
  "server:(drive|server_process)=no row"
  "server:.*=the client of this experiment uses POSIX sockets"
  "socket-echo:.*=the clients of this experiment use POSIX sockets"
  "timers:(boost_)?asio=Asio needs 80 us for each canceled timer in Wine, so 10^6 timers take minutes"
  "tracing:perf=perf_event_open() is a system call of Linux"
  "(rwlock|rw-starvation):std=a writer of the std::shared_mutex of MinGW-w64 is not always alone, as seen in Wine"
  "rwlock:glibc=glibc does not exist on Windows"
  "rw-starvation:glibc=glibc does not exist on Windows"
  "spin-vs-mutex:glibc=glibc does not exist on Windows")

# lab_reason_against(<experiment> <stem> <result>): why the file of an experiment cannot be built here. Empty if it can.
# The definition of an experiment can be built everywhere.
function(lab_reason_against experiment stem result)
  set(${result} "" PARENT_SCOPE)
  string(REPLACE "-" "_" definition ${experiment})
  if(NOT WIN32 OR stem STREQUAL definition)
    return()
  endif()
  foreach(entry ${lab_not_on_windows})
    string(REGEX MATCH "^([^=]*)=(.*)$" parts "${entry}")
    set(reason "${CMAKE_MATCH_2}")
    if("${experiment}:${stem}" MATCHES "^${CMAKE_MATCH_1}$")
      set(${result} "${reason}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()
