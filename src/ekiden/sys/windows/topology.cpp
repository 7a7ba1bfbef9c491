#include <ekiden/sys/topology.hpp>

#include <ekiden/sys/windows/processor_groups.hpp>

#include <algorithm>
#include <cstddef>
#include <windows.h>

namespace ekiden::inline EKIDEN_ABI::sys {
namespace {

void add(std::vector<int>& cpus, int group, KAFFINITY mask) {
    for (int place = 0; place != group_size; ++place) {
        if ((mask >> static_cast<unsigned>(place) & 1U) != 0) cpus.push_back(group * group_size + place);
    }
}

/// Returns the processors in the affinity mask of the process. The result is empty if the mask says nothing:
/// if the process uses several groups of processors.
std::vector<int> cpus_in_mask() {
    std::vector<int> cpus;
    DWORD_PTR own = 0;
    DWORD_PTR all = 0;
    if (::GetProcessAffinityMask(::GetCurrentProcess(), &own, &all) == 0) return cpus;
    // Since Windows 11, a process uses all groups until it has a mask. Then it reports its first group.
    if (own == all && ::GetActiveProcessorGroupCount() > 1) return cpus;
    USHORT count = 1;
    USHORT group = 0;
    if (::GetProcessGroupAffinity(::GetCurrentProcess(), &count, &group) == 0 || count != 1) group = 0;
    add(cpus, group, own);
    return cpus;
}

} // namespace

std::optional<double> cpu_quota() {
    JOBOBJECT_CPU_RATE_CONTROL_INFORMATION rate{};
    if (::QueryInformationJobObject(nullptr, JobObjectCpuRateControlInformation, &rate, sizeof rate, nullptr)
        == 0)
        return std::nullopt;
    // The unit is a hundredth of a percent of all processors.
    const double all = static_cast<double>(::GetActiveProcessorCount(ALL_PROCESSOR_GROUPS)) / 10'000;
    if ((rate.ControlFlags & JOB_OBJECT_CPU_RATE_CONTROL_ENABLE) == 0) return std::nullopt;
    // With a smallest and a largest rate, the upper half of the number is the largest. Some headers lack
    // names.
    constexpr DWORD min_max_rate = 0x10;
    if ((rate.ControlFlags & min_max_rate) != 0) return static_cast<double>(rate.CpuRate >> 16U) * all;
    if ((rate.ControlFlags & JOB_OBJECT_CPU_RATE_CONTROL_HARD_CAP) != 0) return rate.CpuRate * all;
    return std::nullopt;
}

std::vector<int> usable_cpus() {
    std::vector<int> cpus = cpus_in_mask();
    if (cpus.empty()) {
        for (WORD group = 0; group != ::GetActiveProcessorGroupCount(); ++group) {
            const int count = static_cast<int>(::GetActiveProcessorCount(group));
            for (int place = 0; place < count; ++place) cpus.push_back(group * group_size + place);
        }
    }
    if (cpus.empty()) cpus.push_back(0);
    return cpus;
}

std::vector<std::vector<int>> numa_nodes() {
    const std::vector<int> usable = usable_cpus();
    std::vector<std::vector<int>> nodes;
    DWORD size = 0;
    (void)::GetLogicalProcessorInformationEx(RelationNumaNode, nullptr, &size);
    std::vector<std::byte> memory(size);
    const auto first = reinterpret_cast<SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX*>(memory.data());
    if (size == 0 || ::GetLogicalProcessorInformationEx(RelationNumaNode, first, &size) == 0) size = 0;
    for (DWORD at = 0; at < size;) {
        const auto* const entry =
            reinterpret_cast<const SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX*>(memory.data() + at);
        std::vector<int> cpus;
        add(cpus, entry->NumaNode.GroupMask.Group, entry->NumaNode.GroupMask.Mask);
        std::erase_if(cpus, [&](int cpu) { return !std::binary_search(usable.begin(), usable.end(), cpu); });
        if (!cpus.empty()) nodes.push_back(std::move(cpus));
        at += entry->Size;
    }
    if (nodes.empty()) nodes.push_back(usable);
    return nodes;
}

} // namespace ekiden::inline EKIDEN_ABI::sys
