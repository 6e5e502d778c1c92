// SPDX-License-Identifier: Apache-2.0
// When what was counted is too much.

const GROWTH = 1.1;
// Buffers that grow and are kept cost parts of an allocation a message, more or fewer by how messages
// happen to come together.
const SLACK = { instructions: 0, allocations: 0.1 };

// Returns: what is wrong with what was counted, in words; '' if nothing is.
export function complaint(counted, allowed) {
  if (allowed === undefined) return 'is not in bench/budget.json: add it with --write';
  for (const unit of ['instructions', 'allocations']) {
    if (counted[unit] > allowed[unit] * GROWTH + SLACK[unit]) {
      return `takes ${counted[unit]} ${unit}, where ${allowed[unit]} are budgeted: find out why (--functions), or say why in the commit that changes the budget (--write)`;
    }
  }
  return '';
}
