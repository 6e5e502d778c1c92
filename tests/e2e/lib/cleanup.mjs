// SPDX-License-Identifier: Apache-2.0
// What a test opened is closed at its end, the last first: a client before its server, parley
// before the nats-server it uses. One that fails keeps none of the others from running.

const stacks = new WeakMap();

export function atEnd(t, close) {
  if (!stacks.has(t)) {
    const stack = [];
    stacks.set(t, stack);
    t.after(() => unwind(stack));
  }
  stacks.get(t).push(close);
}

async function unwind(stack) {
  const errors = [];
  while (stack.length > 0) {
    try {
      await stack.pop()();
    } catch (error) {
      errors.push(error);
      // A test that has already failed reports its first error only.
      console.error(`At the end of the test: ${error.message}`);
    }
  }
  if (errors.length > 0) throw errors[0];
}
