/// All public headers of the library at once.
#pragma once

#include <ekiden/future/promise.hpp>
#include <ekiden/pool/default_pool.hpp>
#include <ekiden/pool/fork_join.hpp>
#include <ekiden/pool/parallel_for.hpp>
#include <ekiden/pool/parallel_for_each.hpp>
#include <ekiden/pool/parallel_reduce.hpp>
#include <ekiden/pool/parallel_sort.hpp>
#include <ekiden/pool/parallel_transform.hpp>
#include <ekiden/pool/task_group.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sync/barrier.hpp>
#include <ekiden/sync/bounded_buffer.hpp>
#include <ekiden/sync/counting_semaphore.hpp>
#include <ekiden/sync/elastic_barrier.hpp>
#include <ekiden/sync/event.hpp>
#include <ekiden/sync/fifo_mutex.hpp>
#include <ekiden/sync/hybrid_mutex.hpp>
#include <ekiden/sync/latch.hpp>
#include <ekiden/sync/mutex.hpp>
#include <ekiden/sync/rw_mutex.hpp>
#include <ekiden/sync/sequencer.hpp>
#include <ekiden/sync/spin_mutex.hpp>
#include <ekiden/sync/state_diagram.hpp>
#include <ekiden/sync/state_mutex.hpp>
#include <ekiden/sync/watermark_buffer.hpp>
