// Ranks inside a test, which speak over TCP.
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "tilewave/runtime/socket.h"
#include "tilewave/runtime/tcp_ranks.h"

namespace tilewave::runtime {

// f(ranks) on as many ranks as asked for, a thread each.
template <class F>
void on_ranks(int size, F f) {
  const Meeting meeting{"127.0.0.1", Socket::listen("127.0.0.1", 0).port(), "test"};
  std::vector<std::jthread> threads;
  for (int r = 0; r < size; ++r) {
    threads.emplace_back([&, r] {
      const std::shared_ptr<Ranks> ranks = meet_over_tcp(r, size, meeting);
      f(ranks);
      ranks->finish();
    });
  }
}

}  // namespace tilewave::runtime
