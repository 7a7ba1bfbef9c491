#include <lab/experiments/rw-starvation/rw_starvation.hpp>
#include <lab/peers/ekiden_locks.hpp>

namespace lab::rw_starvation {
namespace {

const bool added_writer_next = peers::add_row<peers::ekiden_rw<ekiden::rw_policy::writer_next>>(
    "rw-starvation", &run<peers::ekiden_rw<ekiden::rw_policy::writer_next>>);
const bool added_basic = peers::add_row<peers::ekiden_rw<ekiden::rw_policy::basic>>(
    "rw-starvation", &run<peers::ekiden_rw<ekiden::rw_policy::basic>>);
const bool added_writer_first = peers::add_row<peers::ekiden_rw<ekiden::rw_policy::writer_first>>(
    "rw-starvation", &run<peers::ekiden_rw<ekiden::rw_policy::writer_first>>);
const bool added_fifo = peers::add_row<peers::ekiden_rw<ekiden::rw_policy::fifo>>(
    "rw-starvation", &run<peers::ekiden_rw<ekiden::rw_policy::fifo>>);

} // namespace
} // namespace lab::rw_starvation
