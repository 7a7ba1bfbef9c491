#include <lab/experiments/channel/in_rust.hpp>

namespace lab::channel {
namespace {

const bool added = add_in_rust("kanal", "kanal", "threads, or tasks on Tokio's threads", 73);

} // namespace
} // namespace lab::channel
