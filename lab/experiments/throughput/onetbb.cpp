#include <lab/experiments/throughput/throughput.hpp>
#include <lab/peers/onetbb.hpp>

namespace lab::throughput {
namespace {

const bool added = peers::add_row<peers::onetbb>("throughput", &run<peers::onetbb>);

} // namespace
} // namespace lab::throughput
