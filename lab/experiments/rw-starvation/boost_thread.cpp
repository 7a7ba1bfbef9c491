#include <lab/experiments/rw-starvation/rw_starvation.hpp>
#include <lab/peers/boost_locks.hpp>

namespace lab::rw_starvation {
namespace {

const bool added_boost =
    peers::add_row<peers::boost_shared_mutex>("rw-starvation", &run<peers::boost_shared_mutex>);

} // namespace
} // namespace lab::rw_starvation
