#include <ekiden/sys/linux/control_groups.hpp>
#include <ekiden/sys/thread.hpp>
#include <ekiden/sys/topology.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sched.h>
#endif

namespace sys = ekiden::sys;
using cpus = std::vector<int>;

namespace {

/// A directory of files like those of the system.
class system_files {
public:
    system_files() {
        std::string name = (std::filesystem::temp_directory_path() / "ekiden-topology-XXXXXX").string();
        REQUIRE(::mkdtemp(name.data()) != nullptr);
        root_ = name;
    }
    ~system_files() { std::filesystem::remove_all(root_); }

    void write(const std::string& path, const std::string& text) const {
        const auto full = std::filesystem::path(root_ + path);
        std::filesystem::create_directories(full.parent_path());
        std::ofstream(full) << text;
    }
    [[nodiscard]] std::optional<double> quota() const {
        return sys::control_group_quota(root_ + "/groups", root_);
    }

private:
    std::string root_;
};

} // namespace

TEST_CASE("A list of processors is read in the notation of the system") {
    CHECK(sys::parse_cpu_list("0") == cpus{0});
    CHECK(sys::parse_cpu_list("0-3,8,10-11") == cpus{0, 1, 2, 3, 8, 10, 11});
    CHECK(sys::parse_cpu_list("5-5") == cpus{5});
    CHECK(sys::parse_cpu_list("0-1\n") == cpus{0, 1});
}

TEST_CASE("What cannot be read ends a list of processors") {
    CHECK(sys::parse_cpu_list({}).empty());
    CHECK(sys::parse_cpu_list("").empty());
    CHECK(sys::parse_cpu_list(" 1").empty());
    CHECK(sys::parse_cpu_list("-1").empty());
    CHECK(sys::parse_cpu_list("abc").empty());
    CHECK(sys::parse_cpu_list(",1").empty());
    CHECK(sys::parse_cpu_list("3-1").empty());
    CHECK(sys::parse_cpu_list("1-").empty());
    CHECK(sys::parse_cpu_list("1--2").empty());
    CHECK(sys::parse_cpu_list("1,") == cpus{1});
    CHECK(sys::parse_cpu_list("1,,2") == cpus{1});
    CHECK(sys::parse_cpu_list("1,x,2") == cpus{1});
    CHECK(sys::parse_cpu_list("1 2") == cpus{1});
    CHECK(sys::parse_cpu_list(std::string_view("1\0002", 3)) == cpus{1});
}

TEST_CASE("A list of processors with absurd numbers neither hangs nor fills the memory") {
    CHECK(sys::parse_cpu_list("0-2147483647").empty());
    CHECK(sys::parse_cpu_list("2147483647").empty());
    CHECK(sys::parse_cpu_list("2147483640-2147483647").empty());
    CHECK(sys::parse_cpu_list("7,99999999999999999999") == cpus{7});
    CHECK(sys::parse_cpu_list("0-65535").size() == 65536);
    CHECK(sys::parse_cpu_list("0-65536").empty());
}

TEST_CASE("The usable processors are those of the process, also for a thread that is bound to one") {
    const cpus all = sys::usable_cpus();
    REQUIRE(!all.empty());
    CHECK(std::is_sorted(all.begin(), all.end()));
    CHECK(std::adjacent_find(all.begin(), all.end()) == all.end());
    cpus seen;
    unsigned concurrency = 0;
    std::thread([&] {
        const cpus last{all.back()};
        if (!sys::set_thread_affinity(last)) return;
        seen = sys::usable_cpus();
        concurrency = sys::usable_concurrency();
    }).join();
    CHECK(seen == all);
    CHECK(concurrency == sys::usable_concurrency());
}

TEST_CASE("The usable concurrency is at least one and at most the number of usable processors") {
    CHECK(sys::usable_concurrency() >= 1);
    CHECK(sys::usable_concurrency() <= sys::usable_cpus().size());
}

TEST_CASE("The groups of NUMA nodes hold each usable processor once") {
    cpus together;
    for (const cpus& node : sys::numa_nodes()) {
        CHECK(!node.empty());
        together.insert(together.end(), node.begin(), node.end());
    }
    std::sort(together.begin(), together.end());
    CHECK(together == sys::usable_cpus());
}

TEST_CASE("Affinity is refused when the list names no processor of this machine") {
    std::thread([] {
        CHECK_FALSE(sys::set_thread_affinity({}));
        CHECK_FALSE(sys::set_thread_affinity(cpus{-1}));
        CHECK_FALSE(sys::set_thread_affinity(cpus{1 << 30}));
    }).join();
}

TEST_CASE("There is no quota where the files of control groups are missing") {
    system_files files;
    CHECK_FALSE(files.quota().has_value());
    files.write("/groups", "0::/a\n");
    CHECK_FALSE(files.quota().has_value());
}

TEST_CASE("The quota of version 2 is the tightest of a group and those around it") {
    system_files files;
    files.write("/groups", "0::/a/b\n");
    files.write("/a/b/cpu.max", "max 100000\n");
    CHECK_FALSE(files.quota().has_value());
    files.write("/cpu.max", "400000 100000\n");
    CHECK(files.quota() == 4.0);
    files.write("/a/cpu.max", "150000 100000\n");
    CHECK(files.quota() == 1.5);
    files.write("/a/b/cpu.max", "200000 100000\n");
    CHECK(files.quota() == 1.5);
    files.write("/a/b/cpu.max", "50000 100000\n");
    CHECK(files.quota() == 0.5);
}

TEST_CASE("The quota of version 1 is that of the hierarchy with the cpu controller") {
    system_files files;
    files.write("/groups", "4:memory:/a\n3:cpuset:/a\n2:cpu,cpuacct:/a\n1:name=systemd:/a\n");
    files.write("/cpuset/a/cpu.cfs_quota_us", "1\n");
    files.write("/cpuset/a/cpu.cfs_period_us", "100000\n");
    CHECK_FALSE(files.quota().has_value());
    files.write("/cpu,cpuacct/a/cpu.cfs_quota_us", "-1\n"); // unlimited
    files.write("/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
    CHECK_FALSE(files.quota().has_value());
    files.write("/cpu,cpuacct/a/cpu.cfs_quota_us", "250000\n");
    CHECK(files.quota() == 2.5);
}

TEST_CASE("Damaged files of control groups give no quota and no exception") {
    for (const char* groups :
         {"", "\n", ":", "::", "0::", "0::x", "0:cpu:x", "x", "0::/a/../a", "0:cpu,:/"}) {
        for (const char* limit :
             {"", "max", "100", "100 ", "100 0", "0 100", "-5 100", "x 100", "100 x", "100\n"}) {
            CAPTURE(groups);
            CAPTURE(limit);
            system_files files;
            files.write("/groups", groups);
            files.write("/cpu.max", limit);
            files.write("/a/cpu.max", limit);
            files.write("/cpu/cpu.cfs_quota_us", limit);
            CHECK_FALSE(files.quota().has_value());
        }
    }
}
