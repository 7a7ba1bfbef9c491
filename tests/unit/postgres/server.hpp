/// A private PostgreSQL server for tests, on a Unix socket in a temporary folder.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace ekiden_test {

/// Starts a server of its own with fsync on, and removes it at the end. If the test is root, the server runs
/// as `postgres` or `nobody`, because PostgreSQL refuses root.
class private_server {
public:
    /// Starts the server and waits until it answers.
    private_server();
    ~private_server();
    private_server(const private_server&) = delete;
    private_server& operator=(const private_server&) = delete;

    /// Returns whether PostgreSQL is installed. If not, prints a line that makes CTest count a skipped test.
    static bool is_available();

    /// Kills all processes of the server at once.
    void kill();
    /// Starts the server again and waits until it answers.
    void start();

    [[nodiscard]] const std::string& folder() const { return folder_; }
    [[nodiscard]] std::string connection() const { return connection_in(folder_); }
    /// Returns the connection string for a socket in another folder.
    [[nodiscard]] static std::string connection_in(const std::string& folder) {
        return "host=" + folder + " user=ekiden dbname=postgres";
    }

    using row = std::vector<std::optional<std::string>>;
    /// Executes statements on a connection of its own. Throws std::runtime_error.
    std::vector<row> sql(const std::string& text) const;
    /// Returns the number in the first column of the first row.
    [[nodiscard]] std::int64_t number(const std::string& text) const;

private:
    [[nodiscard]] pid_t spawn(const std::vector<std::string>& command) const;
    void copy_data() const;

    std::string folder_;
    std::FILE* cleaner_ = nullptr;
    pid_t process_ = 0;
};

} // namespace ekiden_test
