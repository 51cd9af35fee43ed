// A TCP socket, owned. Nothing here waits longer than it is told.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <utility>

namespace tilewave::runtime {

class Socket {
 public:
  Socket() = default;
  ~Socket();
  Socket(Socket&& o) noexcept : handle_(std::exchange(o.handle_, -1)) {}
  Socket& operator=(Socket&& o) noexcept {
    std::swap(handle_, o.handle_);
    return *this;
  }

  /// Listens at one address of this host, "" for every one; port 0 takes a free one. Throws
  /// Error(kCommunication).
  static Socket listen(const std::string& address, int port);
  /// The address of a host's name; "" and a `problem` where it has none.
  static std::string address_of(const std::string& host, std::string* problem);
  /// Closed, with a `problem`, where nobody answers in time.
  static Socket connect(const std::string& host, int port, double limit_s, std::string* problem);
  /// Closed where nobody comes in time; 0 does not wait.
  Socket accept(double limit_s) const;

  bool is_open() const { return handle_ >= 0; }
  int get() const { return handle_; }
  int port() const;
  std::string peer_address() const;
  std::string own_address() const;

  /// All or false; a negative limit waits as long as it takes.
  bool send_all(const void* data, std::size_t num_bytes, double limit_s) const;
  bool receive_all(void* data, std::size_t num_bytes, double limit_s) const;
  /// Bytes moved now, 0 where none can be, -1 when the other end is gone.
  ssize_t send_some(const void* data, std::size_t num_bytes, bool more_follows) const;
  ssize_t receive_some(void* data, std::size_t num_bytes) const;
  bool has_data() const;   ///< or the end of it
  bool is_closed() const;  ///< by the other end, with nothing left to receive
  void shut() const;       ///< wakes who waits on it

 private:
  explicit Socket(int handle) : handle_(handle) {}
  int handle_ = -1;
};

}  // namespace tilewave::runtime
