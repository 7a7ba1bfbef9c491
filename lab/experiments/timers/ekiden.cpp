#include <lab/experiments/timers/timers.hpp>
#include <lab/peers/ekiden_executors.hpp>

namespace lab::timers {
namespace {

const bool added = peers::add_row<peers::ekiden_executors>("timers", &run<peers::ekiden_executors>);

} // namespace
} // namespace lab::timers
