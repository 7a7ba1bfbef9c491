# ekiden_library_sources(OUT EXCEPT): the sources of the library for an engine, which has threads and time of its own. EXCEPT is a
# regular expression of sources that the engine does not need. Used by: check and computed.
function(ekiden_library_sources out except)
  get_target_property(sources ekiden SOURCES)
  get_target_property(folder ekiden SOURCE_DIR)
  # The engine replaces these.
  list(REMOVE_ITEM sources sys/linux/asymmetric_fence.cpp sys/linux/futex.cpp sys/linux/thread.cpp
    sys/linux/thread_probe.cpp sys/linux/topology.cpp sys/posix/thread_exit.cpp sys/posix/thread_name.cpp sys/topology.cpp)
  list(FILTER sources EXCLUDE REGEX ${except})
  list(TRANSFORM sources PREPEND ${folder}/)
  set(${out} ${sources} PARENT_SCOPE)
endfunction()
