/// The server under test, in a separate process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

namespace lab::server {

/// The constructor starts the server, and the destructor ends it. It dies with its parent.
class server_process {
public:
    /// Throws std::runtime_error if the server does not start.
    server_process(const std::string& model, unsigned workers, std::int64_t on_the_spot);
    ~server_process();
    server_process(const server_process&) = delete;
    server_process& operator=(const server_process&) = delete;

    [[nodiscard]] std::uint16_t port() const { return port_; }
    /// Returns the processor time that it has used so far, in steps of 10 ms.
    [[nodiscard]] double cpu_s() const;
    /// Asks the server to end. Returns its exit status, or -1.
    int end();

private:
    pid_t child_ = -1;
    std::uint16_t port_ = 0;
};

/// Runs a program to its end and returns its standard output. Throws std::runtime_error if it fails.
[[nodiscard]] std::string output_of(const std::vector<std::string>& words);

} // namespace lab::server
