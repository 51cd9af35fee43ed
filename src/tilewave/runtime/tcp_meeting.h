// What processes that meet over TCP say to each other first, and who is let in.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <list>
#include <string>

#include "tilewave/base/error.h"
#include "tilewave/runtime/socket.h"
#include "tilewave/runtime/timer.h"

namespace tilewave::runtime {

inline constexpr std::uint64_t kTcpMagic = 0x32656c6954576176;
inline constexpr int kMostCode = static_cast<int>(ExitCode::kCommunication);

/// What a process says of itself when it meets rank 0, and to those it connects to.
struct Member {
  std::uint64_t magic = kTcpMagic, key = 0;
  std::int64_t process = 0;
  std::int32_t rank = 0, size = 0, port = 0;
  std::array<char, 64> address{};  // empty: on the host of rank 0
  std::array<char, 128> host{};

  /// Whether this can be a process of the run with this key; its texts end then.
  bool is_sound(std::uint64_t expected_key) const {
    return magic == kTcpMagic && key == expected_key && port > 0 && port < 65536 &&
           address.back() == '\0' && host.back() == '\0';
  }
  std::string name() const {
    return "rank " + std::to_string(rank) + " (process " + std::to_string(process) + " on " +
           host.data() + ")";
  }
};

/// What is said on the second connection.
struct Word {
  enum Kind : std::int32_t {
    kAllThere,
    kEnd,      // rank 0: the run ends with this code
    kFailed,   // to rank 0: why the sender cannot go on
    kSilence,  // to rank 0: the sender waited in vain
    kAsk,      // rank 0: do you live?
    kAnswer
  };
  std::uint64_t magic = kTcpMagic, key = 0;
  std::int32_t kind = kAllThere, code = 0;
  std::array<char, 500> text{};

  /// The same of a word.
  bool is_sound(std::uint64_t expected_key) const {
    return magic == kTcpMagic && key == expected_key && kind >= kAllThere && kind <= kAnswer &&
           code >= 0 && code <= kMostCode && text.back() == '\0';
  }
};

inline Word word_of(std::uint64_t key, Word::Kind kind) {
  Word word;
  word.key = key;
  word.kind = kind;
  return word;
}

/// Who knocks at a listener. Each guest has a while to say who it is, many at the same time, so
/// that connections which say nothing keep nobody out. Where very many knock, the rest wait in the
/// listener's queue, and those let in have to speak sooner; whoever has spoken is never dropped.
class Guests {
 public:
  Guests(const Socket& listener, std::uint64_t key) : listener_(listener), key_(key) {}

  /// The next that has said who it is; closed where none does within the limit.
  Socket next(double limit_s, Member& who);

 private:
  struct Guest {
    Socket socket;
    Timer since;
    Member said;
    std::size_t done;
  };
  bool has_room() const;
  bool listen_to(Guest& guest) const;  // false for a stranger

  const Socket& listener_;
  std::uint64_t key_;
  std::list<Guest> guests_;
};

bool is_loopback(const std::string& address);

/// Where to listen, given the address by which this host meets rank 0; "" for everywhere. A name
/// may mean a loopback address on its own host and another one elsewhere.
std::string listening_address(const std::string& address, const std::string& root_host);

}  // namespace tilewave::runtime
