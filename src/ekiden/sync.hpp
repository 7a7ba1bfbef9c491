/// Locks, buffers and other objects that threads wait for.
///
/// Part: sync. Used by: programs. Includes every public header of this part.
#pragma once

#include <ekiden/context/suppressed_exceptions.hpp>
#include <ekiden/sync/barrier.hpp>
#include <ekiden/sync/bounded_buffer.hpp>
#include <ekiden/sync/buffer_base.hpp>
#include <ekiden/sync/channel.hpp>
#include <ekiden/sync/counting_semaphore.hpp>
#include <ekiden/sync/elastic_barrier.hpp>
#include <ekiden/sync/event.hpp>
#include <ekiden/sync/fifo_mutex.hpp>
#include <ekiden/sync/hybrid_mutex.hpp>
#include <ekiden/sync/latch.hpp>
#include <ekiden/sync/mutex.hpp>
#include <ekiden/sync/queue_operations.hpp>
#include <ekiden/sync/queue_status.hpp>
#include <ekiden/sync/rw_mutex.hpp>
#include <ekiden/sync/rw_policy.hpp>
#include <ekiden/sync/sequencer.hpp>
#include <ekiden/sync/spin_mutex.hpp>
#include <ekiden/sync/state_diagram.hpp>
#include <ekiden/sync/state_mutex.hpp>
#include <ekiden/sync/state_table.hpp>
#include <ekiden/sync/wait_limit.hpp>
#include <ekiden/sync/watermark_buffer.hpp>
