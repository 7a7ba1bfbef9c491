#include <lab/experiments/bursts/bursts.hpp>
#include <lab/peers/eigen.hpp>

namespace lab::bursts {
namespace {

const bool added = peers::add_row<peers::eigen>("bursts", &run<peers::eigen>);

} // namespace
} // namespace lab::bursts
