/// Locks with static storage of holder.cpp's neighbour, locks.cpp.
#pragma once

#include <ekiden/sync/barrier.hpp>
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

namespace static_locks {

extern ekiden::mutex mutex;
extern ekiden::fifo_mutex fifo_mutex;
extern ekiden::hybrid_mutex hybrid_mutex;
extern ekiden::spin_mutex spin_mutex;
extern ekiden::rw_mutex<> rw_mutex;
extern ekiden::latch latch;
extern ekiden::event event;
extern ekiden::counting_semaphore<> semaphore;
extern ekiden::barrier<> barrier;

} // namespace static_locks
