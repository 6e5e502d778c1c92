// SPDX-License-Identifier: Apache-2.0
// Follows the pages as a reader would: runs their shell blocks against a server, and compares what
// is printed with what they show. With UPDATE set, writes what is printed into the pages.

import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, it } from 'node:test';
import { isAsShown } from './lib/compare.mjs';
import { blocksOf, replaceBlock } from './lib/page.mjs';
import { Reader } from './lib/reader.mjs';

const root = resolve(import.meta.dirname ?? new URL('.', import.meta.url).pathname, '../..');
const binary = resolve(process.env.PARLEY_BIN || join(root, 'build/dev/gateway/parley'));
const pages = (process.env.PAGES ?? '').split(' ').filter(Boolean);
const isUpdate = Boolean(process.env.UPDATE);
// Until a terminal shows what the page says; with UPDATE it usually shows something else.
const PATIENCE_MS = isUpdate ? 5_000 : 60_000;

// What refuses a request is shown, or it is a mistake of the page.
function assertRan({ status, printed }, block, isShown) {
  assert.equal(String(status), block.attributes.exit ?? '0', `exit status; it printed:\n${printed}`);
  if (!isShown) assert.doesNotMatch(printed, /"type":"\/problems\//, 'it was refused');
}

class Follower {
  constructor(page, reader) {
    this.path = join(root, page);
    this.reader = reader;
    this.markdown = readFileSync(this.path, 'utf8');
    this.blocks = blocksOf(this.markdown);
    this.updates = [];
  }

  compare(block, printed) {
    if (isAsShown(block.text, printed, block.language)) return;
    if (isUpdate) this.updates.push([block, printed]);
    else assert.equal(printed, block.text, 'what is printed, and what the page shows');
  }

  steps = {
    run: async (block, next) => {
      const isShown = next?.attributes.output === true;
      this.last = await this.reader.run(block.text);
      assertRan(this.last, block, isShown);
    },
    terminal: (block) => this.reader.open(block.attributes.terminal, block.text),
    file: (block) => this.reader.save(block.attributes.file, block.text),
    output: async (block) => {
      const name = block.attributes.output;
      const isWhole = (printed) => isAsShown(block.text, printed, block.language);
      const printed = name === true ? this.last.printed : await this.reader.seen(name, isWhole, PATIENCE_MS);
      this.compare(block, printed);
    },
    'not-run': (block) => assert.notEqual(block.attributes['not-run'], true, 'give the reason'),
    text: () => {},
  };

  async follow() {
    for (const [at, block] of this.blocks.entries()) {
      try {
        assert.ok(block.kind, 'say in the fence what this block is: tests/docs/lib/page.mjs');
        await this.steps[block.kind](block, this.blocks[at + 1]);
      } catch (error) {
        error.message = `${this.path}:${block.line}: ${error.message}`;
        throw error;
      }
    }
    // From the last on, so that lines keep their numbers.
    for (const [block, text] of this.updates.reverse()) {
      this.markdown = replaceBlock(this.markdown, block, text);
    }
    if (this.updates.length > 0) writeFileSync(this.path, this.markdown);
  }
}

const count = (blocks, kind) => blocks.filter((block) => block.kind === kind).length;

function describeBlocks(blocks) {
  const reasons = blocks.filter((block) => block.kind === 'not-run');
  const left = reasons.map((block) => `line ${block.line}: ${block.attributes['not-run']}`);
  const ran = count(blocks, 'run') + count(blocks, 'terminal');
  return [`${ran} blocks run, ${count(blocks, 'output')} outputs compared, ${left.length} not run`]
    .concat(left)
    .join('\n  ');
}

// Pages that do not start a server of their own find one at localhost:8080.
const startsServer = (blocks) => blocks.some(({ attributes }) => attributes.terminal === 'server');

async function check(t, page) {
  assert.ok(existsSync(binary), `there is no ${binary}: ./scripts/test builds it, or set PARLEY_BIN`);
  const reader = await Reader.at(binary);
  const follower = new Follower(page, reader);
  try {
    if (!startsServer(follower.blocks)) await reader.open('server', 'parley serve');
    await follower.follow();
  } finally {
    assert.equal(await reader.leave(), '', "a sanitizer's report");
  }
  t.diagnostic(`${page}: ${describeBlocks(follower.blocks)}`);
}

describe('pages', { concurrency: 4 }, () => {
  for (const page of pages) it(page, (t) => check(t, page));
});
