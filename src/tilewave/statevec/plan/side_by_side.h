// Independent pieces of planning on several threads.
#pragma once

#include <functional>

namespace tilewave::statevec::detail {

/// How many pieces are done at the same time.
int num_side_by_side();

/// f(0) to f(count - 1) in any order, as tasks of the team of threads that is at work or of one
/// made for them, so that pieces may have pieces of their own. Throws what the first of them threw.
void side_by_side(int count, const std::function<void(int)>& f);

}  // namespace tilewave::statevec::detail
