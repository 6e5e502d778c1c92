// SPDX-License-Identifier: Apache-2.0
// The life-cycle matrix of 74_life_cycles with the other endings, over TLS, and with more workers.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { readFileSync } from 'node:fs';
import { authority } from './lib/certificates.mjs';
import { FRAMES_TYPE } from './lib/frames.mjs';
import { rawFor } from './lib/http.mjs';
import { IMPATIENT, Tally, closeWorld, openWorld, runPhase, stopIn } from './lib/life_cycles.mjs';
import { LEAVING, LEAVING_TLS, NATS_GONE, REVOKED, SILENCE, createToken } from './lib/life_endings.mjs';
import { PHASES } from './lib/life_phases.mjs';
import { metricsOf, valueOf } from './lib/metrics.mjs';
import { parleyFor } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { temporaryFolder } from './lib/program.mjs';

// `open`: the server of all phases; or of each, where an ending leaves it useless.
function matrix(what, endings, open, { ofEachPhase = false } = {}) {
  describe(what, () => {
    const tally = new Tally();
    let world;
    before(async () => {
      if (!ofEachPhase) world = await open();
    });
    after(() => world && closeWorld(world));

    let operations;
    for (const phase of PHASES) {
      it(`hold nothing afterwards: ${phase.name}`, async () => {
        const own = world ?? (await open());
        operations = own.operations;
        try {
          await runPhase(own, phase, endings, tally);
        } finally {
          if (!world) await closeWorld(own);
        }
      });
    }

    it('were in each phase', (t) => {
      t.diagnostic(tally.text(operations, PHASES, endings));
      if (ofEachPhase) return; // a server that is new has less to do: no task to give, say
      assert.deepEqual(tally.missing(operations, PHASES, endings), []);
    });
  });
}

const withTokens = async () => {
  const file = join(temporaryFolder(), 'tokens.json');
  const scopes = 'send:*,read:*,admin';
  const client = await createToken(file, 'client', scopes);
  const tokens = { file, client, monitor: await createToken(file, 'monitor', `${scopes},metrics`) };
  return openWorld({ tokens, args: ['--tokens', file] });
};

// Both halves wait for most of their time, each test with servers of its own.
describe('the life cycles of requests', { concurrency: 2 }, () => {
  describe('that end one after the other', { concurrency: 1 }, () => {
    matrix('requests on several workers, whose clients leave', LEAVING, () => openWorld({ workers: 3 }));

    matrix('requests over TLS, whose clients leave', LEAVING_TLS, async () => {
      const { ca, issue } = await authority();
      const { cert, key } = await issue('server', 'IP:127.0.0.1,DNS:localhost');
      const tls = { ca: readFileSync(ca), servername: 'localhost' };
      return openWorld({ tls, args: ['--tls-cert', cert, '--tls-key', key] });
    });

    matrix('requests that nothing ends but time', SILENCE, () => openWorld({ clients: IMPATIENT, forNats: IMPATIENT }));

    matrix('requests whose NATS is killed and comes back', NATS_GONE, () => openWorld());
  });

  describe('that end with the server or with their token, or unseen', { concurrency: 1 }, () => {
    matrix('requests whose token is revoked', REVOKED, withTokens, { ofEachPhase: true });

    describe('a reader of frames that is gone', () => {
      it('holds nothing, though nothing is stored that would show it', async (t) => {
        const server = await parleyFor(t);
        const line = 'GET /v1/supervisor/stream HTTP/1.1';
        const reader = await rawFor(t, server, `${line}\r\nHost: localhost\r\nAccept: ${FRAMES_TYPE}\r\n\r\n`);
        const readers = async () => valueOf(await metricsOf(server), 'parley_stream_readers');
        await until('it reads', async () => (await readers()) === 1);
        reader.close();
        await until('it is gone', async () => (await readers()) === 0, { every: 500 });
      });
    });

    describe('a server that is told to stop, some of whose clients leave meanwhile', () => {
      for (const phase of PHASES.filter(({ name }) => name !== 'unread stream')) {
        it(`ends in order: ${phase.name}`, async (t) => {
          const world = await openWorld({ forNats: IMPATIENT });
          t.diagnostic(await stopIn(world, phase, LEAVING));
        });
      }
    });
  });
});
