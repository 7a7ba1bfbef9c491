#include <lab/experiments/channel/in_rust.hpp>

namespace lab::channel {
namespace {

const bool added = add_in_rust("async-channel", "async-channel", "on Tokio's threads", 71);

} // namespace
} // namespace lab::channel
