// A program that uses ekiden::postgres without a server: a bad setting must be refused before the first
// connection.
#include <ekiden/postgres.hpp>

#include <stdexcept>
#include <string>

int main() {
    try {
        ekiden::postgres::create_tables({.connection = "dbname=bank", .schema = "Not Allowed"});
        return 1;
    } catch (const std::invalid_argument& refusal) {
        return std::string(refusal.what()).find("schema") != std::string::npos ? 0 : 2;
    }
}
