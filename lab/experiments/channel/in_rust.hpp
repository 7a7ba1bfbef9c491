/// Experiment channel: the rows whose workloads are in peers/tokio/src/channel.rs and channel_threads.rs.
#pragma once

#include <lab/harness/registry.hpp>

namespace lab::channel {

inline bool add_in_rust(const char* name, const char* title, const char* note, int order) {
    return add(implementation{.experiment = "channel",
                              .name = name,
                              .title = title,
                              .note = note,
                              .pinnable = false,
                              .order = order,
                              .program = "ekiden-lab-tokio"});
}

} // namespace lab::channel
