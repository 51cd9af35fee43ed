// Numbers for people to read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tilewave {

/// "1.23 G" + unit, with decimal prefixes; "more than 1000000 P" + unit where those end.
std::string in_units(double value, const char* unit);
/// "0.1", "1e-09": to nine digits.
std::string nine_digits(double value);
/// "1 qubit", "2 qubits".
std::string counted(std::uint64_t count, std::string_view what);
/// "12.3 MiB".
std::string in_bytes(std::uint64_t bytes);
/// "12 us", "1.23 ms" or "4.56 s".
std::string in_time(double seconds);

}  // namespace tilewave
