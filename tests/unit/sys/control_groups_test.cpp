#include <ekiden/sys/linux/control_groups.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace sys = ekiden::sys;

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
