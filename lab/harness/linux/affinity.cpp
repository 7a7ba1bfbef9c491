#include <lab/harness/affinity.hpp>

#include <algorithm>
#include <filesystem>
#include <sched.h>
#include <string>
#include <unistd.h>

namespace lab {
namespace {

// Ignores failure, because the thread may have ended after it was listed.
void bind(int thread_id, int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(cpu), &set);
    sched_setaffinity(thread_id, sizeof set, &set);
}

} // namespace

std::vector<int> usable_cpus() {
    cpu_set_t set;
    CPU_ZERO(&set);
    std::vector<int> cpus;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
            if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) cpus.push_back(cpu);
    if (cpus.empty()) cpus.push_back(0);
    return cpus;
}

void bind_this_thread(const std::vector<int>& cpus, unsigned index) { bind(0, cpus[index % cpus.size()]); }

void bind_all_threads(const std::vector<int>& cpus) {
    const int self = gettid();
    std::vector<int> others;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
        const int id = std::stoi(entry.path().filename().string());
        if (id != self) others.push_back(id);
    }
    std::sort(others.begin(), others.end());
    bind(self, cpus.front());
    for (std::size_t i = 0; i < others.size(); ++i) bind(others[i], cpus[(i + 1) % cpus.size()]);
}

} // namespace lab
