// Ranks over TCP. Between two processes there is one connection for data; messages travel in the
// order in which both sides ask for them, each with a head (tag, bytes) that must match what the
// receiver expects. Rank 0 has a second connection to everyone: on it others say why they failed,
// and rank 0 ends them, also while they compute; and on it stopped processes are missed (tcp_watch.h).
//
// A process that is gone closes its connections, which the others see at their next wait; a host
// that is gone is noticed by keep-alive packets.
#include "tilewave/runtime/tcp_ranks.h"

#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <vector>

#include "tilewave/base/environment.h"
#include "tilewave/base/error.h"
#include "tilewave/runtime/file_cache.h"
#include "tilewave/runtime/socket.h"
#include "tilewave/runtime/tcp_meeting.h"
#include "tilewave/runtime/tcp_rendezvous.h"
#include "tilewave/runtime/tcp_watch.h"
#include "tilewave/runtime/timer.h"

namespace tilewave::runtime {
namespace {

constexpr double kTimeoutS = 600;  // of silence, unless TILEWAVE_TIMEOUT_S says otherwise
constexpr double kMeetS = 25;      // until all are there, unless TILEWAVE_MEET_S says otherwise
constexpr double kLookS = 0.25;    // between looks for processes that are gone
constexpr double kFarewellS = 20;  // a failed process waits for rank 0 to end the run
constexpr std::uint32_t kSwapTag = 16;  // and the slot; collectives are below

template <class... Parts>
[[noreturn]] void fail(const Parts&... message) {
  tilewave::fail(ExitCode::kCommunication, message...);
}

struct Head {
  std::uint32_t tag = 0, magic = static_cast<std::uint32_t>(kTcpMagic);
  std::uint64_t num_bytes = 0;
};

struct Message {
  Head head;
  char* data = nullptr;
  std::size_t done = 0;  // bytes, with those of the head
  int* pending = nullptr;

  std::size_t size() const { return sizeof head + head.num_bytes; }
};

struct Peer {
  Socket socket;
  std::deque<Message> out, in;
  Head head;  // of the message that is coming
  bool gone = false;
};

class TcpRanks final : public Ranks {
 public:
  TcpRanks(int rank, int size, const Meeting& meeting) : rank_(rank), size_(size) {
    Member me;
    me.key = hash_of(meeting.key);
    me.process = getpid();
    me.rank = rank, me.size = size;
    gethostname(me.host.data(), me.host.size() - 1);
    const Timer timer;
    const double meet_s = seconds_from("TILEWAVE_MEET_S", kMeetS);
    key_ = me.key;
    peers_.resize(static_cast<std::size_t>(size));
    Gathered found =
        rank == 0 ? receive_all(me, meeting, timer, meet_s) : introduce(me, meeting, timer, meet_s);
    members_ = std::move(found.members);
    // a span below that would miss ranks whose machine is only busy
    const double stopped_s =
        std::max(seconds_from("TILEWAVE_TIMEOUT_S", TcpWatch::kLimit_s), TcpWatch::kAnswer_s);
    watch_ = std::make_unique<TcpWatch>(rank, key_, members_, std::move(found.control), stopped_s);
    try {
      connect_all(me, found.listener, meeting, timer, 2 * meet_s);
      timeout_s_ = meet_s;
      meet();  // nobody goes on, and fails, before all are here
    } catch (const Error& e) {
      if (rank > 0) report_failure(e.what());
      watch_->end_others(static_cast<int>(ExitCode::kCommunication));
      leave();
      throw;
    }
    for (const Member& m : members_) {
      if (m.host != me.host) continue;
      ++on_host_;
      rank_on_host_ += m.rank < rank;
    }
    timeout_s_ = seconds_from("TILEWAVE_TIMEOUT_S", kTimeoutS);
  }
  ~TcpRanks() override { leave(); }

  const char* kind() const override { return "TCP"; }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int ranks_on_host() const override { return on_host_; }
  int rank_on_host() const override { return rank_on_host_; }

  // A tree: rank r of those counted from the root on has it from r without its lowest bit.
  void broadcast(void* data, std::size_t num_bytes, int root) override {
    const int me = (rank_ - root + size_) % size_;
    int pending = 0;
    int step = 1;
    while (step < size_ && !(me & step)) step *= 2;
    if (me) {
      receive((me - step + root) % size_, 1, data, num_bytes, &pending);
      wait([&] { return pending == 0; });
    }
    for (step /= 2; step >= 1; step /= 2) {
      if (me + step < size_) send((me + step + root) % size_, 1, data, num_bytes, &pending);
    }
    wait([&] { return pending == 0; });
  }

  void gather(const void* mine, void* all, std::size_t bytes_each) override {
    int pending = 0;
    auto* const to = static_cast<char*>(all);
    if (rank_ == 0) {
      std::memcpy(to, mine, bytes_each);
      for (int r = 1; r < size_; ++r)
        receive(r, 2, to + static_cast<std::size_t>(r) * bytes_each, bytes_each, &pending);
    } else {
      send(0, 2, mine, bytes_each, &pending);
    }
    wait([&] { return pending == 0; });
    broadcast(all, static_cast<std::size_t>(size_) * bytes_each, 0);
  }

  void start_swap(int slot, int peer, const void* out, std::size_t out_bytes, void* in,
                  std::size_t in_bytes) override {
    int& pending = slots_.at(static_cast<std::size_t>(slot));
    const auto tag = kSwapTag + static_cast<std::uint32_t>(slot);
    if (in_bytes) receive(peer, tag, in, in_bytes, &pending);
    if (out_bytes) send(peer, tag, out, out_bytes, &pending);
    progress();
  }
  void finish_swap(int slot) override {
    const int& pending = slots_.at(static_cast<std::size_t>(slot));
    wait([&] { return pending == 0; });
  }

  void wait_for(const std::function<bool()>& done) override { wait(done, 50); }

  std::string report_failure(const std::string& message) noexcept override {
    watch_->take_the_word();
    Word word = word_of(key_, waited_in_vain_ ? Word::kSilence : Word::kFailed);
    word.code = static_cast<int>(ExitCode::kCommunication);
    std::strncpy(word.text.data(), message.c_str(), word.text.size() - 1);
    watch_->tell_root(word);
    const Timer timer;
    const auto is_alone = [&] { return watch_->root_is_gone() || watch_->root_is_silent(); };
    const double farewell_s = waited_in_vain_ ? 3 * TcpWatch::kAnswer_s : kFarewellS;
    while (timer.elapsed_s() < farewell_s && !is_alone()) usleep(20'000);
    if (rank_ > 1) std::_Exit(word.code);  // rank 1 speaks where rank 0 does not
    // whom this one waits for may wait for rank 0 in turn, and only that would know
    return waited_in_vain_ && !watch_->root_is_gone() ? silence_of(name(0)) : message;
  }

  void abort(int code) noexcept override {
    watch_->take_the_word();
    watch_->end_others(code);
    std::fflush(nullptr);
    std::_Exit(code);
  }

  void finish() override {
    if (is_finished_) return;
    finishing_ = true;
    watch_->expect_ends();
    meet();
    is_finished_ = true;
    watch_->finish();
    for (Peer& p : peers_) p.socket = {};
    if (rank_ == 0) watch_->stop();
  }
  bool is_finished() const override { return is_finished_; }

 private:
  Peer& at(int r) { return peers_[static_cast<std::size_t>(r)]; }
  Member& member(int r) { return members_[static_cast<std::size_t>(r)]; }

  void leave() {
    finishing_ = true;
    if (watch_) watch_->stop();
  }

  // Each connects to those below and is connected to by those above.
  void connect_all(const Member& me, Socket& listener, const Meeting& meeting, const Timer& timer,
                   double limit_s) {
    for (int r = 0; r < rank_; ++r) {
      const std::string address = member(r).address[0] ? member(r).address.data() : meeting.host;
      std::string problem;
      Socket s = Socket::connect(address, member(r).port, 10, &problem);
      if (!s.is_open() || !s.send_all(&me, sizeof me, 5))
        fail(name(rank_), " cannot connect to ", name(r), " at ", address, " (", problem,
             "): let the hosts reach each other on all ports");
      at(r).socket = std::move(s);
    }
    Guests guests(listener, me.key);
    for (int missing = size_ - 1 - rank_; missing > 0;) {
      look_for_words();
      if (timer.elapsed_s() > limit_s) {
        int r = rank_ + 1;
        while (at(r).socket.is_open()) ++r;
        fail(name(r), " did not connect to ", name(rank_),
             ": let the hosts reach each other on all ports");
      }
      Member m;
      Socket guest = guests.next(0.2, m);
      if (!guest.is_open() || m.rank <= rank_ || m.rank >= size_ || at(m.rank).socket.is_open())
        continue;
      at(m.rank).socket = std::move(guest);
      --missing;
    }
  }

  std::string name(int r) { return member(r).name(); }

  // ---- messages ----

  void send(int peer, std::uint32_t tag, const void* data, std::size_t num_bytes, int* pending) {
    Message m{{tag, static_cast<std::uint32_t>(kTcpMagic), num_bytes},
              const_cast<char*>(static_cast<const char*>(data)),
              0,
              pending};
    ++*pending;
    at(peer).out.push_back(m);
  }
  void receive(int peer, std::uint32_t tag, void* data, std::size_t num_bytes, int* pending) {
    Message m{{tag, static_cast<std::uint32_t>(kTcpMagic), num_bytes},
              static_cast<char*>(data),
              0,
              pending};
    ++*pending;
    at(peer).in.push_back(m);
  }

  // Moves what can be moved without waiting.
  void progress() {
    for (int r = 0; r < size_; ++r) {
      if (r == rank_) continue;
      while (!at(r).out.empty() && push(r)) at(r).out.pop_front();
      while (!at(r).in.empty() && pull(r)) at(r).in.pop_front();
    }
  }
  // True when the first message that goes out has gone.
  bool push(int r) {
    Message& m = at(r).out.front();
    while (m.done < m.size()) {
      const bool in_head = m.done < sizeof m.head;
      const char* from = in_head ? reinterpret_cast<const char*>(&m.head) + m.done
                                 : m.data + (m.done - sizeof m.head);
      const std::size_t bytes = (in_head ? sizeof m.head : m.size()) - m.done;
      const ssize_t sent = at(r).socket.send_some(from, bytes, in_head && m.head.num_bytes > 0);
      if (sent < 0) lose(r);
      if (sent <= 0) return false;
      m.done += static_cast<std::size_t>(sent);
    }
    --*m.pending;
    return true;
  }
  // True when the first message that is expected has come.
  bool pull(int r) {
    Message& m = at(r).in.front();
    while (m.done < m.size()) {
      const bool in_head = m.done < sizeof m.head;
      char* to = in_head ? reinterpret_cast<char*>(&at(r).head) + m.done
                         : m.data + (m.done - sizeof m.head);
      const std::size_t bytes = (in_head ? sizeof m.head : m.size()) - m.done;
      const ssize_t came = at(r).socket.receive_some(to, bytes);
      if (came < 0) lose(r);
      if (came <= 0) return false;
      m.done += static_cast<std::size_t>(came);
      if (in_head && m.done == sizeof m.head &&
          (at(r).head.tag != m.head.tag || at(r).head.num_bytes != m.head.num_bytes ||
           at(r).head.magic != m.head.magic)) {
        fail(name(r), " sent message ", at(r).head.tag, " of ", at(r).head.num_bytes,
             " bytes where ", m.head.tag, " of ", m.head.num_bytes,
             " was due: run the same program with the same input on all");
      }
    }
    --*m.pending;
    return true;
  }
  [[noreturn]] void lose(int r) {
    // It may have ended because rank 0 did, of which each rank learns from its own connection.
    constexpr double kNews_s = 0.3;
    at(r).gone = true;
    look_for_words();
    for (const Timer timer; rank_ != 0 && r != 0 && timer.elapsed_s() < kNews_s; usleep(5'000)) {
      if (!watch_->root_is_gone() && !at(0).socket.is_closed()) continue;
      at(0).gone = true;
      r = 0;
    }
    fail(name(r), " ended in the middle");
  }

  // Rank 0: has somebody failed?
  void look_for_words() {
    const TcpWatch::Trouble trouble = watch_->trouble();
    if (trouble.text.empty()) return;
    if (trouble.is_silence) fail_of_silence(trouble.text);
    watch_->take_the_word();
    fail(trouble.text);
  }

  // Rank 0: somebody waited in vain, maybe for one who waits in turn. Whoever does not even answer
  // that it lives is named; `otherwise` is said where all do.
  [[noreturn]] void fail_of_silence(const std::string& otherwise) {
    const Timer timer;
    while (timer.elapsed_s() < TcpWatch::kAnswer_s) {
      const TcpWatch::Trouble trouble = watch_->trouble();
      if (!trouble.text.empty() && !trouble.is_silence) look_for_words();
      usleep(5'000);
    }
    watch_->take_the_word();
    const int missing = watch_->missing();
    fail(missing > 0 ? silence_of(name(missing)) : otherwise);
  }
  std::string silence_of(const std::string& who) const {
    return who + " said nothing for " + std::to_string(static_cast<int>(timeout_s_)) +
           " s: see whether it hangs, or set TILEWAVE_TIMEOUT_S higher";
  }
  void look_for_failures() {
    look_for_words();
    if (finishing_) return;
    if (watch_->root_is_silent()) {
      watch_->take_the_word();
      fail(watch_->silence_of(0));
    }
    if (watch_->root_is_gone()) {
      at(0).gone = true;
      fail(name(0), " ended in the middle");
    }
    for (int r = 0; r < size_; ++r) {
      if (r != rank_ && at(r).socket.is_closed()) lose(r);
    }
  }

  void sleep_until_moving(int microseconds) {
    std::vector<pollfd> all;
    for (int r = 0; r < size_; ++r) {
      Peer& p = at(r);
      const int events = (p.in.empty() ? 0 : POLLIN) | (p.out.empty() ? 0 : POLLOUT);
      if (events) all.push_back({p.socket.get(), static_cast<short>(events), 0});
    }
    const timespec limit{0, 1000L * microseconds};
    (void)ppoll(all.data(), all.size(), &limit, nullptr);
  }

  // Until `done`; what it asks is looked at every so many microseconds.
  template <class Done>
  void wait(const Done& done, int every_us = 20'000) {
    const Timer timer;
    double looked_s = 0;
    for (int turn = 0;; ++turn) {
      progress();
      if (done()) return;
      if (turn < 64) continue;
      const double now_s = timer.elapsed_s();
      if (now_s < 50e-6) {
        sched_yield();  // ranks may share a core
      } else {
        sleep_until_moving(every_us);
      }
      if (now_s - looked_s < kLookS) continue;
      looked_s = now_s;
      look_for_failures();
      if (now_s <= timeout_s_) continue;
      if (rank_ == 0) fail_of_silence(silence_of(silent_rank()));
      waited_in_vain_ = true;
      fail(silence_of(silent_rank()));
    }
  }
  std::string silent_rank() {
    for (int r = 0; r < size_; ++r) {
      if (!at(r).in.empty() || !at(r).out.empty()) return name(r);
    }
    return "some rank";
  }

  int rank_, size_, on_host_ = 0, rank_on_host_ = 0;
  double timeout_s_ = kTimeoutS;
  std::uint64_t key_ = 0;
  bool waited_in_vain_ = false;
  std::vector<Member> members_;
  std::vector<Peer> peers_;
  std::array<int, kSlots> slots_{};
  std::unique_ptr<TcpWatch> watch_;
  bool finishing_ = false, is_finished_ = false;
};

}  // namespace

std::unique_ptr<Ranks> meet_over_tcp(int rank, int size, const Meeting& meeting) {
  return std::make_unique<TcpRanks>(rank, size, meeting);
}

std::string first_host(std::string_view list) {
  const std::size_t open = list.find('['), comma = list.find(',');
  if (open == std::string_view::npos || comma < open) return std::string(list.substr(0, comma));
  const std::size_t close = list.find(']', open);
  std::string host(list.substr(0, open));
  host += list.substr(open + 1, list.find_first_of("-,]", open) - open - 1);
  if (close == std::string_view::npos) return host;
  const std::string_view rest = list.substr(close + 1);
  return host + std::string(rest.substr(0, rest.find(',')));
}

}  // namespace tilewave::runtime
