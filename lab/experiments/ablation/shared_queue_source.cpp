#include <lab/experiments/ablation/ablation.hpp>
#include <lab/peers/shared_queue_source.hpp>

namespace lab::ablation {
namespace {

const bool added = peers::add_row<peers::shared_queue_source>("ablation", &run<peers::shared_queue_source>,
                                                              "a future per task");

} // namespace
} // namespace lab::ablation
