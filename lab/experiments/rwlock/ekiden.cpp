#include <lab/experiments/rwlock/rwlock.hpp>
#include <lab/peers/ekiden_locks.hpp>

namespace lab::rwlock {
namespace {

const bool added_writer_next = peers::add_row<peers::ekiden_rw<ekiden::rw_policy::writer_next>>(
    "rwlock", &run<peers::ekiden_rw<ekiden::rw_policy::writer_next>>);
const bool added_basic = peers::add_row<peers::ekiden_rw<ekiden::rw_policy::basic>>(
    "rwlock", &run<peers::ekiden_rw<ekiden::rw_policy::basic>>);
const bool added_writer_first = peers::add_row<peers::ekiden_rw<ekiden::rw_policy::writer_first>>(
    "rwlock", &run<peers::ekiden_rw<ekiden::rw_policy::writer_first>>);
const bool added_fifo = peers::add_row<peers::ekiden_rw<ekiden::rw_policy::fifo>>(
    "rwlock", &run<peers::ekiden_rw<ekiden::rw_policy::fifo>>);

} // namespace
} // namespace lab::rwlock
