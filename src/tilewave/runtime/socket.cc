// See socket.h.
#include "tilewave/runtime/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tilewave/base/error.h"
#include "tilewave/runtime/timer.h"

namespace tilewave::runtime {
namespace {

// A host that is gone is noticed after some 25 s.
void prepare(int handle) {
  const int yes = 1, idle_s = 10, every_s = 5, count = 3, unanswered_ms = 25'000;
  setsockopt(handle, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  setsockopt(handle, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
  setsockopt(handle, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
  setsockopt(handle, IPPROTO_TCP, TCP_KEEPINTVL, &every_s, sizeof every_s);
  setsockopt(handle, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
  setsockopt(handle, IPPROTO_TCP, TCP_USER_TIMEOUT, &unanswered_ms, sizeof unanswered_ms);
  fcntl(handle, F_SETFD, FD_CLOEXEC);
  fcntl(handle, F_SETFL, fcntl(handle, F_GETFL) | O_NONBLOCK);
}

// False when the time is over.
bool wait_for(int handle, short events, double limit_s) {
  const Timer timer;
  for (;;) {
    const double left_s = limit_s - timer.elapsed_s();
    if (limit_s >= 0 && left_s <= 0) return false;
    pollfd p{handle, events, 0};
    const int found = poll(&p, 1, limit_s < 0 ? -1 : static_cast<int>(1e3 * left_s) + 1);
    if (found > 0) return true;
    if (found < 0 && errno != EINTR) return false;
  }
}

std::string text_of(const sockaddr_in& address) {
  char text[INET_ADDRSTRLEN] = {};
  inet_ntop(AF_INET, &address.sin_addr, text, sizeof text);
  return text;
}

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

Socket::~Socket() {
  if (handle_ >= 0) close(handle_);
}

std::string Socket::address_of(const std::string& host, std::string* problem) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_family = AF_INET;
  const int status = getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (status != 0) {
    *problem = "cannot find host " + host + ": " + gai_strerror(status);
    return {};
  }
  sockaddr_in address{};
  std::memcpy(&address, found->ai_addr, sizeof address);
  freeaddrinfo(found);
  return text_of(address);
}

Socket Socket::listen(const std::string& where, int port) {
  Socket s(socket(AF_INET, SOCK_STREAM, 0));
  const int yes = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  if (!where.empty()) inet_pton(AF_INET, where.c_str(), &address.sin_addr);
  if (s.is_open()) setsockopt(s.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (!s.is_open() || bind(s.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(s.get(), 4096) != 0) {
    fail(ExitCode::kCommunication, "cannot listen at ", where.empty() ? "port " : where + ":", port,
         " (", std::strerror(errno),
         "): give the host of process 0 and a free port there, as in TILEWAVE_ROOT=host:23456, to "
         "all processes");
  }
  prepare(s.get());
  return s;
}

Socket Socket::connect(const std::string& host, int port, double limit_s, std::string* problem) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  const int status = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (status != 0) {
    *problem = "cannot find host " + host + ": " + gai_strerror(status);
    return {};
  }
  Socket s(socket(AF_INET, SOCK_STREAM, 0));
  if (s.is_open()) prepare(s.get());
  int error = errno;
  if (s.is_open() && ::connect(s.get(), found->ai_addr, found->ai_addrlen) != 0) {
    error = errno;
    if (error == EINPROGRESS) {
      socklen_t size = sizeof error;
      error = ETIMEDOUT;
      if (wait_for(s.get(), POLLOUT, limit_s))
        getsockopt(s.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    }
    if (error) s = Socket();
  }
  freeaddrinfo(found);
  if (!s.is_open()) *problem = std::strerror(error);
  return s;
}

Socket Socket::accept(double limit_s) const {
  if (limit_s > 0 && !wait_for(handle_, POLLIN, limit_s)) return {};
  Socket s(::accept(handle_, nullptr, nullptr));
  if (s.is_open()) prepare(s.get());
  return s;
}

int Socket::port() const {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  getsockname(handle_, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

std::string Socket::peer_address() const {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  getpeername(handle_, reinterpret_cast<sockaddr*>(&address), &size);
  return text_of(address);
}

std::string Socket::own_address() const {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  getsockname(handle_, reinterpret_cast<sockaddr*>(&address), &size);
  return text_of(address);
}

ssize_t Socket::send_some(const void* data, std::size_t num_bytes, bool more_follows) const {
  const ssize_t sent =
      ::send(handle_, data, num_bytes, MSG_NOSIGNAL | MSG_DONTWAIT | (more_follows ? MSG_MORE : 0));
  return sent >= 0 ? sent : would_block() ? 0 : -1;
}

ssize_t Socket::receive_some(void* data, std::size_t num_bytes) const {
  const ssize_t came = ::recv(handle_, data, num_bytes, MSG_DONTWAIT);
  return came > 0 ? came : came < 0 && would_block() ? 0 : -1;
}

bool Socket::send_all(const void* data, std::size_t num_bytes, double limit_s) const {
  const auto* from = static_cast<const char*>(data);
  while (num_bytes > 0) {
    const ssize_t sent = is_open() ? send_some(from, num_bytes, false) : -1;
    if (sent < 0 || (sent == 0 && !wait_for(handle_, POLLOUT, limit_s))) return false;
    from += sent, num_bytes -= static_cast<std::size_t>(sent);
  }
  return true;
}

bool Socket::receive_all(void* data, std::size_t num_bytes, double limit_s) const {
  auto* to = static_cast<char*>(data);
  while (num_bytes > 0) {
    const ssize_t came = is_open() ? receive_some(to, num_bytes) : -1;
    if (came < 0 || (came == 0 && !wait_for(handle_, POLLIN, limit_s))) return false;
    to += came, num_bytes -= static_cast<std::size_t>(came);
  }
  return true;
}

bool Socket::has_data() const {
  char c;
  const ssize_t came = ::recv(handle_, &c, 1, MSG_DONTWAIT | MSG_PEEK);
  return came > 0;
}

bool Socket::is_closed() const {
  char c;
  const ssize_t came = ::recv(handle_, &c, 1, MSG_DONTWAIT | MSG_PEEK);
  return came == 0 || (came < 0 && !would_block());
}

void Socket::shut() const {
  if (is_open()) ::shutdown(handle_, SHUT_RDWR);
}

}  // namespace tilewave::runtime
