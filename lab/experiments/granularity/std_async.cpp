#include <lab/experiments/granularity/granularity.hpp>
#include <lab/peers/std_async.hpp>

namespace lab::granularity {
namespace {

const bool added = peers::add_row<peers::std_async>("granularity", &run<peers::std_async>,
                                                    "at most 1,562 tasks of each length");

} // namespace
} // namespace lab::granularity
