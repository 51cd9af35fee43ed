// Handles of registers that stay safe after their register is gone. A slot is never freed, only
// used again under a new generation, so a stale handle is found by comparing two numbers.
#pragma once

#include <functional>
#include <memory>

#include "tilewave/quest/core/register.h"

struct TilewaveSlot {
  unsigned long long generation = 0;
  std::unique_ptr<tilewave::quest::Register> content;
};

namespace tilewave::quest {

/// Takes a slot for a register.
TilewaveSlot* take_slot(std::unique_ptr<Register> content);
/// Frees its register; handles of this generation are stale from now on.
void free_slot(TilewaveSlot* slot);
/// Every register that lives.
void for_each_register(const std::function<void(Register&)>& f);

}  // namespace tilewave::quest
