#include <lab/experiments/channel/in_rust.hpp>

namespace lab::channel {
namespace {

const bool added = add_in_rust("tokio", "Tokio", "sync::mpsc", 70);

} // namespace
} // namespace lab::channel
