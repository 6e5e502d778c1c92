// SPDX-License-Identifier: Apache-2.0
// A model whose output the schema of a type constrains writes messages that are valid: those that
// MCP explains, decoded by chance, with nothing known but the schema.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Decoder, exoticIn, schemasIn } from './lib/decoder.mjs';
import { get, post } from './lib/http.mjs';
import { legacyRequest, rpc } from './lib/mcp.mjs';
import { useParley } from './lib/parley.mjs';

const MESSAGES = 40; // of each type

// The same numbers in each run.
function randomOf(seed) {
  let state = seed;
  const next = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
  const between = (least, most) => least + Math.floor(next() * (most - least + 1));
  return { between, chance: (p) => next() < p, pick: (list) => list[between(0, list.length - 1)] };
}

describe('decoding', () => {
  const its = useParley();

  async function explain(args) {
    const { json } = await rpc(its.parley, legacyRequest('tools/call', { name: 'explain', arguments: args }));
    assert.ok(!json.result.isError, JSON.stringify(json));
    return json.result.structuredContent;
  }

  // What only parley can check, which the schema names: a text that is encoded in another.
  async function leftTo(protocol) {
    const { $comment } = (await get(its.parley, `/v1/protocols/${protocol}/schema`)).json;
    const [only] = $comment.split('Warnings')[0].split('Checked by parley only: ').slice(1);
    return new Set(only.match(/[A-Z]+-\d{3}/g));
  }

  // No schema says what the Markdown of Brenner's must be, nor base64 and numbers that increase.
  for (const [protocol, least] of [['vlp', 1], ['roundtable', 1], ['supervisor', 0.9], ['brenner', 0]]) {
    it(`by the schemas of ${protocol} makes what breaks no rule that they can say`, async (t) => {
      const left = await leftTo(protocol);
      const { types } = await explain({ protocol });
      const tally = { valid: 0, all: 0 };
      for (const type of types) {
        const { schema } = await explain({ protocol, type });
        assert.deepEqual(exoticIn(schema), [], type);
        assert.ok([...schemasIn(schema)].some((part) => part.enum || part.const || part.pattern), type);
        const decoder = new Decoder(randomOf(7));
        const messages = Array.from({ length: MESSAGES }, () => decoder.decode(schema)).filter(Boolean);
        assert.ok(messages.length >= 0.9 * MESSAGES, `${type}: ${messages.length} were made`);
        for (const message of messages) {
          if (protocol !== 'brenner') assert.equal(message.type, type);
          const query = protocol === 'supervisor' ? '?stamp=true&agent=a' : '?stamp=true';
          const { json } = await post(its.parley, `/v1/${protocol}/validate${query}`, JSON.stringify(message));
          const errors = json.violations.filter(({ severity, rule }) => severity === 'error' && !left.has(rule));
          assert.deepEqual(errors, [], JSON.stringify(message));
          tally.valid += json.valid;
          tally.all++;
        }
      }
      t.diagnostic(`${protocol}: ${tally.valid} of ${tally.all} are valid`);
      assert.ok(tally.valid >= least * tally.all, JSON.stringify(tally));
    });
  }
});
