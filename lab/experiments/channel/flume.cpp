#include <lab/experiments/channel/in_rust.hpp>

namespace lab::channel {
namespace {

const bool added = add_in_rust("flume", "flume", "threads, or tasks on Tokio's threads", 72);

} // namespace
} // namespace lab::channel
