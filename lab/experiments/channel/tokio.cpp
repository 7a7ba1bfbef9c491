#include <lab/harness/registry.hpp>

namespace lab::channel {
namespace {

// Written in Rust: peers/tokio/src/channel.rs.
bool add_tokio(const char* name, const char* title, const char* note, int order, bool ranked = true) {
    return add(implementation{.experiment = "channel",
                              .name = name,
                              .title = title,
                              .note = note,
                              .pinnable = false,
                              .order = order,
                              .program = "ekiden-lab-tokio",
                              .ranked = ranked});
}

const bool added = add_tokio("tokio", "Tokio", "sync::mpsc", 70);
const bool added_many = add_tokio("async-channel", "Tokio, async-channel", "many to many", 71);
const bool added_unbounded =
    add_tokio("tokio-unbounded", "Tokio, no bound", "mpsc::unbounded_channel", 72, false);

} // namespace
} // namespace lab::channel
