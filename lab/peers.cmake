# The peers. Each has a name (the stem of its files), a title, a Debian package, and whether it is installed.
set(lab_peer_names)
set(lab_peer_libraries)
set(lab_missing)

# lab_peer(<name> <title> <package> <found>)
function(lab_peer name title package found)
  set(version "not installed")
  if(found)
    set(version "version unknown")
    execute_process(COMMAND dpkg-query -W -f=\${Version} ${package}
                    OUTPUT_VARIABLE packaged ERROR_QUIET RESULT_VARIABLE failed)
    if(NOT failed AND packaged)
      set(version "${packaged}")
    endif()
  endif()
  set(lab_peer_names ${lab_peer_names} ${name} PARENT_SCOPE)
  set(lab_peer_${name}_title "${title}" PARENT_SCOPE)
  set(lab_peer_${name}_package "${package}" PARENT_SCOPE)
  set(lab_peer_${name}_version "${version}" PARENT_SCOPE)
  set(lab_peer_${name}_found ${found} PARENT_SCOPE)
endfunction()

# Sets <result> to false if <stem> is a peer that is not installed. All other files of an experiment are always built.
function(lab_peer_found stem result)
  if(DEFINED lab_peer_${stem}_found AND NOT lab_peer_${stem}_found)
    set(${result} FALSE PARENT_SCOPE)
  else()
    set(${result} TRUE PARENT_SCOPE)
  endif()
endfunction()

macro(lab_report_missing experiment peer)
  string(REPLACE "_" "-" lab_row ${peer})
  string(APPEND lab_missing "        {\"${experiment}\", \"${lab_peer_${peer}_title}\", "
                            "\"${lab_peer_${peer}_package}\", \"${lab_row}\", \"\"},\n")
endmacro()

macro(lab_report_reason experiment stem reason)
  set(lab_title ${stem})
  if(DEFINED lab_peer_${stem}_title)
    set(lab_title "${lab_peer_${stem}_title}")
  endif()
  string(REPLACE "_" "-" lab_row ${stem})
  string(APPEND lab_missing "        {\"${experiment}\", \"${lab_title}\", \"\", \"${lab_row}\", \"${reason}\"},\n")
endmacro()

# Generates the two functions of harness/registry.hpp that depend on the build.
function(lab_write_peers file)
  set(list "")
  foreach(name ${lab_peer_names})
    string(APPEND list "        {\"${lab_peer_${name}_title}\", \"${lab_peer_${name}_package}\", "
                       "\"${lab_peer_${name}_version}\"},\n")
  endforeach()
  file(CONFIGURE OUTPUT ${file} @ONLY CONTENT [[// Written by lab/peers.cmake.
#include <lab/harness/registry.hpp>

namespace lab {

const std::vector<missing_implementation>& missing_implementations() {
    static const std::vector<missing_implementation> all{
@lab_missing@    };
    return all;
}

const std::vector<peer>& known_peers() {
    static const std::vector<peer> all{
@list@    };
    return all;
}

} // namespace lab
]])
endfunction()

# lab_find_header(<result> <header> <folder>...): the header can be in one of the folders.
function(lab_find_header result header)
  find_path(lab_${result}_folder ${header} PATH_SUFFIXES ${ARGN})
  if(lab_${result}_folder)
    set(${result} TRUE PARENT_SCOPE)
  else()
    set(${result} FALSE PARENT_SCOPE)
  endif()
endfunction()

find_package(TBB QUIET)
if(TBB_FOUND)
  list(APPEND lab_peer_libraries TBB::tbb)
endif()
lab_peer(onetbb "oneTBB" libtbb-dev ${TBB_FOUND})
lab_peer(std_par "std::execution::par" libtbb-dev ${TBB_FOUND})

lab_find_header(asio_found boost/asio/thread_pool.hpp)
set(asio_package libboost-dev)
if(asio_found) # Debian has several versions of Boost, each in its own package
  execute_process(COMMAND dpkg-query -S ${lab_asio_found_folder}/boost/asio/thread_pool.hpp
                  OUTPUT_VARIABLE owner ERROR_QUIET)
  if(owner MATCHES "^([^:]+):")
    set(asio_package ${CMAKE_MATCH_1})
  endif()
endif()
lab_peer(boost_asio "Boost.Asio" ${asio_package} ${asio_found})

lab_find_header(standalone_asio_found asio/thread_pool.hpp)
lab_peer(asio "Asio" libasio-dev ${standalone_asio_found})

# Debian 12 has the header in concurrentqueue/, and Debian 13 in concurrentqueue/moodycamel/.
lab_find_header(queue_header blockingconcurrentqueue.h concurrentqueue concurrentqueue/moodycamel)
lab_peer(concurrentqueue "moodycamel queue" libconcurrentqueue-dev ${queue_header})

lab_find_header(nsync_header nsync.h)
find_library(lab_nsync_library nsync_cpp)
if(nsync_header AND lab_nsync_library)
  set(nsync_found TRUE)
  list(APPEND lab_peer_libraries ${lab_nsync_library})
else()
  set(nsync_found FALSE)
endif()
lab_peer(nsync "nsync" libnsync-dev ${nsync_found})

find_package(absl QUIET)
if(absl_FOUND)
  set(abseil_found TRUE)
  list(APPEND lab_peer_libraries absl::synchronization)
else()
  set(abseil_found FALSE)
endif()
lab_peer(abseil "Abseil" libabsl-dev ${abseil_found})

lab_find_header(boost_thread_header boost/thread/shared_mutex.hpp)
find_library(lab_boost_thread_library boost_thread)
if(boost_thread_header AND lab_boost_thread_library)
  set(boost_thread_found TRUE)
  list(APPEND lab_peer_libraries ${lab_boost_thread_library})
else()
  set(boost_thread_found FALSE)
endif()
lab_peer(boost_thread "Boost.Thread" libboost-thread-dev ${boost_thread_found})

lab_find_header(lttng_header lttng/tracepoint.h)
find_library(lab_lttng_library lttng-ust)
find_program(lab_lttng_daemon lttng-sessiond)
if(lttng_header AND lab_lttng_library AND lab_lttng_daemon)
  set(lttng_found TRUE)
else()
  set(lttng_found FALSE)
endif()
lab_peer(lttng_ust "LTTng-UST" liblttng-ust-dev ${lttng_found})

find_path(lab_eigen_folder unsupported/Eigen/CXX11/Tensor PATH_SUFFIXES eigen3)
if(lab_eigen_folder)
  set(eigen_found TRUE)
else()
  set(eigen_found FALSE)
endif()
lab_peer(eigen "Eigen" libeigen3-dev ${eigen_found})

find_package(OpenMP QUIET COMPONENTS CXX)
set(lab_openmp_options ${OpenMP_CXX_FLAGS})
if(OpenMP_CXX_FOUND)
  list(APPEND lab_peer_libraries ${OpenMP_CXX_LIBRARIES})
else()
  set(OpenMP_CXX_FOUND FALSE)
endif()
lab_peer(openmp "OpenMP (libgomp)" libgomp1 ${OpenMP_CXX_FOUND})

# libomp needs a clang++ that finds omp.h.
find_program(lab_clang NAMES clang++-19 clang++)
set(lab_libomp_compiler)
if(lab_clang AND NOT CMAKE_CROSSCOMPILING)
  execute_process(COMMAND sh -c "echo '#include <omp.h>' | ${lab_clang} -fopenmp -x c++ -E - >/dev/null 2>&1"
                  RESULT_VARIABLE failed)
  if(NOT failed)
    set(lab_libomp_compiler ${lab_clang})
  endif()
endif()
if(lab_libomp_compiler)
  set(libomp_found TRUE)
else()
  set(libomp_found FALSE)
endif()
lab_peer(libomp "OpenMP (libomp)" libomp-19-dev ${libomp_found})

include(rayon.cmake)
include(go.cmake)
include(tokio.cmake)
include(parallel_consumer.cmake)
include(stdexec.cmake)

if(NOT TBB_FOUND OR NOT asio_found OR NOT standalone_asio_found OR NOT queue_header
   OR NOT OpenMP_CXX_FOUND OR NOT libomp_found)
  message(STATUS "lab: some peers are not installed; the lab shows them so")
endif()
