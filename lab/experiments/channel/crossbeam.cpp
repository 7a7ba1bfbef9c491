#include <lab/experiments/channel/in_rust.hpp>

namespace lab::channel {
namespace {

const bool added = add_in_rust("crossbeam", "crossbeam-channel", "threads", 74);

} // namespace
} // namespace lab::channel
