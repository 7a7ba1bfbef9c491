/// What the lab asks of the operating system, apart from processors (affinity.hpp), processes
/// (child_process.hpp, busy_neighbour.hpp) and interruptions (interrupt.hpp).
///
/// Used by: the harness and the experiments. Each system has its own sources, in linux/ and windows/.
#pragma once

#include <filesystem>
#include <string>

namespace lab {

/// Returns the executable that runs.
[[nodiscard]] std::filesystem::path own_program();

/// Sets an environment variable of this process, which later child processes inherit.
void set_environment(const char* name, const char* value);

/// Processor time of this process and numbers of its context switches. 0 for what the system does not count.
struct process_usage {
    double user_s = 0;
    double system_s = 0;
    double voluntary_switches = 0;
    double involuntary_switches = 0;
};
[[nodiscard]] process_usage process_usage_now();

/// Returns the processor time that the calling thread has used.
[[nodiscard]] double thread_cpu_s();

/// Makes the calling thread wake up from its sleeps as punctually as the system allows. Threads that it
/// starts inherit this setting.
void sleep_precisely();

/// What the results say about the system. Empty and 0 mean unknown.
struct system_facts {
    std::string host;
    std::string system; // name, version and architecture
    std::string processor;
    std::string governor;
    double memory_gib = 0;
    int numa_nodes = 1;
    double quota_cores = 0; // processors that a limit of the system allows; 0: no limit
};
[[nodiscard]] system_facts describe_system();

/// Returns the descriptor through which a cell sends its results to the driver. `passed` is the number that
/// the driver has written into the request. Programs that the cell starts do not inherit the descriptor.
[[nodiscard]] int open_report(int passed);

} // namespace lab
