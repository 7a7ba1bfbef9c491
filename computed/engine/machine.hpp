/// The table of a machine: how its cores are grouped, and what each step costs.
///
/// Part: computed (engine). The files of the tables are in computed/tables. Each figure in a file names its
/// source.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace ekiden::computed {

/// The unit of all clocks and costs of the engine.
using picoseconds = std::uint64_t;

/// The distance between two cores.
enum class distance : std::uint8_t { same_cluster, same_socket, other_socket };

/// Cores have numbers. Core 0 is the first core of the first cluster of the first socket. All costs are in
/// picoseconds.
struct machine {
    std::string name;
    unsigned sockets = 1;
    unsigned clusters = 1; ///< of each socket
    unsigned cores = 1;    ///< of each cluster

    picoseconds access = 0; ///< a plain access to a line that the core has, with the instructions around it
    picoseconds call = 0;   ///< a call of a function that is not inlined
    picoseconds atomic = 0; ///< an atomic load or store of a line that the core has
    picoseconds locked = 0; ///< a read-modify-write of a line that the core owns
    picoseconds fence = 0;  ///< a full fence without pending stores

    picoseconds line[3] = {};  ///< a line comes from another core, for each distance
    picoseconds cold = 0;      ///< the first access to a line that no core has
    picoseconds hold = 0;      ///< a core keeps a line for this long after a read-modify-write
    picoseconds share = 0;     ///< for this long, a reader that gets a shared copy keeps the line busy
    unsigned store_buffer = 1; ///< the number of stores that may wait for their lines

    unsigned jitter = 0; ///< transfers, holds, pauses and wake-ups vary by up to this many per cent

    picoseconds pause = 0;
    picoseconds yield = 0;
    picoseconds clock = 0; ///< a reading of the clock

    picoseconds futex_wait = 0; ///< the system call, until the thread sleeps
    picoseconds futex_wake = 0; ///< the system call
    picoseconds wake_each =
        0; ///< more for each thread that the call wakes, with an interrupt for an idle core
    picoseconds wake_queue = 0;     ///< the same, if no core is idle
    picoseconds wake = 0;           ///< from the wake-up until the thread runs on an idle core
    picoseconds wake_deep = 0;      ///< more if that core was idle for 50 times `deep_after`
    picoseconds deep_after = 0;     ///< from here on, the time to start a core grows
    picoseconds context_switch = 0; ///< from one thread to another thread on the same core
    picoseconds slice = 0;          ///< a thread runs for this long while another thread waits for its core
    picoseconds create = 0;         ///< the creation of a thread, for the creator

    picoseconds membarrier = 0;  ///< a heavy fence, for the caller
    picoseconds answer = 0;      ///< more for the caller if another core runs a thread and must answer
    picoseconds answer_each = 0; ///< more for each of these cores
    picoseconds interrupt = 0;   ///< a heavy fence, for each other core that runs a thread

    picoseconds allocate = 0;      ///< operator new
    picoseconds release = 0;       ///< operator delete
    picoseconds release_other = 0; ///< the same, if another thread has called new

    [[nodiscard]] unsigned total() const noexcept { return sockets * clusters * cores; }
    [[nodiscard]] unsigned cluster_of(unsigned core) const noexcept { return core / cores; }
    [[nodiscard]] unsigned socket_of(unsigned core) const noexcept { return core / (cores * clusters); }
    [[nodiscard]] distance between(unsigned one, unsigned other) const noexcept {
        if (cluster_of(one) == cluster_of(other)) return distance::same_cluster;
        return socket_of(one) == socket_of(other) ? distance::same_socket : distance::other_socket;
    }
};

/// Reads a table. A line of the file is `name value`, and a comment begins with '#'. Costs are in
/// nanoseconds. Throws std::runtime_error with the name of the file if a line is invalid or a name is
/// missing.
[[nodiscard]] machine read_machine(const std::string& file);

} // namespace ekiden::computed
