#include <lab/experiments/rw-starvation/rw_starvation.hpp>
#include <lab/peers/system_locks.hpp>

namespace lab::rw_starvation {
namespace {

const bool added_std =
    peers::add_row<peers::std_shared_mutex>("rw-starvation", &run<peers::std_shared_mutex>);

} // namespace
} // namespace lab::rw_starvation
