// SPDX-License-Identifier: Apache-2.0
// Many messages in one request, as NDJSON and as an array: one result each, in order, then a
// summary.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  chunk,
  rawChunkedHead,
  rawFor,
  rawPost,
  NDJSON_TYPE,
  send,
  sendLines,
  validate,
  validateLines,
} from './lib/http.mjs';
import { lastSequence, storedMessages } from './lib/nats.mjs';
import { useParley } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import {
  assertAccepted,
  assertProblem,
  assertViolation,
  brokenClaim,
  claim,
  claims,
  lines,
  ruleIds,
} from './lib/vlp.mjs';

const summaryOf = (answer) => answer.lines.at(-1).summary;
const statuses = (answer) => answer.lines.slice(0, -1).map((line) => [line.line, line.status]);

describe('NDJSON to /messages', () => {
  const its = useParley();

  it('gets one result a message, in order, then the summary', async () => {
    const batch = [claim(), brokenClaim(), claim({ safety: { level: 'block' }, session_id: 'S-blocked' })];
    const answer = await sendLines(its.parley, lines(batch));
    assert.equal(answer.status, 200, answer.text);
    assert.match(answer.headers['content-type'], /^application\/x-ndjson\b/);
    assert.equal(answer.headers['transfer-encoding'], 'chunked');
    const seq = await lastSequence(its.nats);
    const [first, second, third, last, ...more] = answer.lines;
    const { warnings = [], ...accepted } = first;
    assert.deepEqual(warnings, []);
    assert.deepEqual(accepted, {
      line: 1,
      status: 'accepted',
      id: batch[0].id,
      subject: 'vlp.safe.claim',
      stream: 'VLP',
      seq: seq - 1,
    });
    assert.deepEqual([second.line, second.status], [2, 'invalid']);
    assert.deepEqual(ruleIds(second.violations), ['VLP-005']);
    second.violations.forEach(assertViolation);
    assert.deepEqual([third.line, third.subject, third.seq], [3, 'vlp.block.claim', seq]);
    assert.deepEqual(last, {
      summary: { received: 3, accepted: 2, duplicate: 0, invalid: 1, failed: 0 },
    });
    assert.deepEqual(more, []);
  });

  it('stores the lines in their order, byte for byte', async () => {
    const before = await lastSequence(its.nats);
    const batch = claims(500).map((message) => JSON.stringify(message));
    const answer = await sendLines(its.parley, lines(batch));
    assert.equal(summaryOf(answer).accepted, 500);
    const stored = await storedMessages(its.nats, { from: before + 1 });
    assert.deepEqual(
      stored.map((message) => message.payload.toString()),
      batch,
    );
    const seqs = answer.lines.slice(0, -1).map((line) => line.seq);
    assert.deepEqual(
      seqs,
      stored.map((message) => message.seq),
    );
  });

  it('skips blank lines, counted, and takes CRLF and a last line without newline', async () => {
    const [one, two, three] = claims(3).map((message) => JSON.stringify(message));
    const before = await lastSequence(its.nats);
    const answer = await sendLines(its.parley, `\n${one}\r\n\r\n  \t\n${two}\n\n${three}`);
    assert.deepEqual(statuses(answer), [
      [2, 'accepted'],
      [5, 'accepted'],
      [7, 'accepted'],
    ]);
    assert.deepEqual(summaryOf(answer), {
      received: 3,
      accepted: 3,
      duplicate: 0,
      invalid: 0,
      failed: 0,
    });
    const stored = await storedMessages(its.nats, { from: before + 1 });
    assert.deepEqual(
      stored.map((message) => message.payload.toString()),
      [one, two, three],
    );
  });

  for (const type of [
    'application/ndjson',
    'application/jsonl',
    'application/x-ndjson; charset=utf-8',
  ]) {
    it(`may be called ${type}`, async () => {
      const answer = await sendLines(its.parley, lines(claims(2)), { type });
      assert.equal(summaryOf(answer).accepted, 2);
    });
  }

  for (const [what, body] of [
    ['nothing', ''],
    ['only blank lines', '\n\r\n  \n'],
  ]) {
    it(`with ${what} in it gets a summary of nothing`, async () => {
      const answer = await sendLines(its.parley, body);
      assert.equal(answer.status, 200);
      assert.deepEqual(answer.lines, [
        { summary: { received: 0, accepted: 0, duplicate: 0, invalid: 0, failed: 0 } },
      ]);
    });
  }

  it('with a line of every kind of fault stops at none', async () => {
    const faults = [
      ['{"id":', 'GW-001'],
      ['{"a":1,"a":2}', 'GW-003'],
      ['{"a":'.repeat(65) + '1' + '}'.repeat(65), 'GW-004'],
      [Buffer.from('{"id":"\xff"}', 'latin1'), 'GW-005'],
      ['[]', 'GW-006'],
      ['42', 'GW-006'],
      ['{"id":"\u0000"}'.replace('\u0000', '\0'), 'GW-001'],
    ];
    const parts = faults.flatMap(([line]) => [Buffer.from(line), Buffer.from('\n')]);
    const body = Buffer.concat([...parts, Buffer.from(lines([claim()]))]);
    const answer = await sendLines(its.parley, body);
    const results = answer.lines;
    for (const [i, [, rule]] of faults.entries()) {
      assert.deepEqual([results[i].line, results[i].status], [i + 1, 'invalid']);
      assert.deepEqual(ruleIds(results[i].violations), [rule]);
    }
    assert.equal(results[faults.length].status, 'accepted');
    assert.equal(summaryOf(answer).invalid, faults.length);
  });

  it('places a violation by the line of the body', async () => {
    const answer = await sendLines(its.parley, `\n${lines([claim()])}{"id":"é" oops}\n`);
    const [, broken] = answer.lines;
    assert.equal(broken.violations[0].at.line, 3);
    assert.ok([11, 12, 15, 16].includes(broken.violations[0].at.column), 'at the word or its end');
  });

  it('with a line over the limit gets GW-002 for it, and goes on', async () => {
    const large = claim({ content: 'x'.repeat(1024 * 1024) });
    const answer = await sendLines(its.parley, lines([claim(), large, claim()]));
    assert.deepEqual(statuses(answer), [
      [1, 'accepted'],
      [2, 'invalid'],
      [3, 'accepted'],
    ]);
    assert.deepEqual(ruleIds(answer.lines[1].violations), ['GW-002']);
  });

  it('with a line of 20 MiB that is the last and has no end gets GW-002 for it', async () => {
    const answer = await sendLines(its.parley, [
      lines([claim()]),
      ...Array.from({ length: 20 }, () => 'x'.repeat(1024 * 1024)),
    ]);
    assert.deepEqual(statuses(answer), [
      [1, 'accepted'],
      [2, 'invalid'],
    ]);
    assert.deepEqual(ruleIds(answer.lines[1].violations), ['GW-002']);
  });

  it('carries the warnings of an accepted line', async () => {
    const answer = await sendLines(its.parley, lines([claim({ id: 'W1' })]));
    assert.equal(answer.lines[0].status, 'accepted');
    assert.deepEqual(ruleIds(answer.lines[0].warnings), ['VLP-101']);
  });

  it('results=errors tells only what was not accepted, and the summary', async () => {
    const batch = [claim(), brokenClaim(), claim(), '{'];
    const answer = await sendLines(its.parley, lines(batch), { query: '?results=errors' });
    assert.deepEqual(statuses(answer), [
      [2, 'invalid'],
      [4, 'invalid'],
    ]);
    assert.equal(summaryOf(answer).accepted, 2);
  });

  it('results=summary tells the summary alone', async () => {
    const batch = lines([claim(), brokenClaim(), claim()]);
    const answer = await sendLines(its.parley, batch, { query: '?results=summary' });
    assert.deepEqual(answer.lines, [
      { summary: { received: 3, accepted: 2, duplicate: 0, invalid: 1, failed: 0 } },
    ]);
  });

  it('results=all is what one gets without asking', async () => {
    const batch = lines([claim(), brokenClaim()]);
    const answer = await sendLines(its.parley, batch, { query: '?results=all' });
    assert.deepEqual(statuses(answer), [
      [1, 'accepted'],
      [2, 'invalid'],
    ]);
  });

  it('cut anywhere by chunks is the same', async () => {
    const before = await lastSequence(its.nats);
    const batch = claims(40).map((message) => JSON.stringify({ ...message, content: 'é✓😀' }));
    const bytes = Buffer.from(lines(batch));
    const pieces = [];
    for (let at = 0, size = 1; at < bytes.length; at += size, size = ((size * 7) % 97) + 1) {
      pieces.push(bytes.subarray(at, at + size));
    }
    const answer = await sendLines(its.parley, pieces);
    assert.equal(summaryOf(answer).accepted, 40);
    const stored = await storedMessages(its.nats, { from: before + 1 });
    assert.deepEqual(
      stored.map((message) => message.payload.toString()),
      batch,
    );
  });

  it('sent one byte at a time is the same', async (t) => {
    const connection = await rawFor(t, its.parley);
    const bytes = rawPost('/v1/vlp/messages', lines(claims(2)), { type: NDJSON_TYPE });
    for (const byte of bytes) await connection.write(Buffer.from([byte]));
    const answer = await connection.answer();
    assert.equal(answer.status, 200);
    assert.match(answer.text, /"accepted":2/);
  });

  it('sent in chunks of one byte is the same', async (t) => {
    const connection = await rawFor(t, its.parley, rawChunkedHead('/v1/vlp/messages'));
    for (const byte of Buffer.from(lines(claims(2)))) await connection.write(chunk([byte]));
    await connection.write('0\r\n\r\n');
    assert.match((await connection.answer()).text, /"accepted":2/);
  });

  it('is stored line by line while its body still arrives', async (t) => {
    const before = await lastSequence(its.nats);
    const connection = await rawFor(t, its.parley, rawChunkedHead('/v1/vlp/messages'));
    for (const expected of [1, 2, 3]) {
      await connection.write(chunk(lines([claim()])));
      await until(
        `line ${expected} is stored`,
        async () => (await lastSequence(its.nats)) === before + expected,
      );
    }
    await connection.write('0\r\n\r\n');
    assert.match((await connection.answer()).text, /"accepted":3/);
  });

  const HALF_SENT = [
    ['Content-Length', (size) => `Content-Length: ${size}`, (bytes) => bytes],
    ['chunks', () => 'Transfer-Encoding: chunked', chunk],
  ];
  for (const [what, framing, wrap] of HALF_SENT) {
    // A process that dies sends FIN; a reset may overtake its own data, so it is sent after that.
    for (const [death, die] of [
      ['is killed', async (connection) => connection.close()],
      [
        'resets',
        async (connection, isStored) => {
          await until('the first half is stored', isStored);
          connection.socket.resetAndDestroy();
        },
      ],
    ]) {
      it(`whose client ${death} half-way is stored up to there (${what})`, async (t) => {
        const before = await lastSequence(its.nats);
        const isStored = async () => (await lastSequence(its.nats)) >= before + 50;
        const batch = claims(100).map((message) => JSON.stringify(message));
        const head = framing(Buffer.byteLength(lines(batch)));
        const connection = await rawFor(
          t,
          its.parley,
          `POST /v1/vlp/messages HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${NDJSON_TYPE}\r\n` +
            `${head}\r\n\r\n`,
        );
        await connection.write(wrap(lines(batch.slice(0, 50)) + batch[50].slice(0, 40)));
        await die(connection, isStored);
        await until('the first half is stored', isStored);
        // Whatever else there were would be stored before this one.
        assert.equal((await send(its.parley, claim())).status, 200);
        const stored = await storedMessages(its.nats, { from: before + 1 });
        const payloads = stored.map((message) => message.payload.toString());
        assert.deepEqual(payloads.slice(0, -1), batch.slice(0, 50));
      });
    }
  }

  it('leaves the connection fit for the next request', async (t) => {
    const connection = await rawFor(t, its.parley);
    await connection.write(rawPost('/v1/vlp/messages', lines(claims(3)), { type: NDJSON_TYPE }));
    assert.match((await connection.answer()).text, /"accepted":3/);
    await connection.write(rawPost('/v1/vlp/validate', JSON.stringify(claim())));
    assert.match((await connection.answer()).text, /"valid":true/);
  });
});

describe('an array to /messages', () => {
  const its = useParley();

  it('gets the same results, numbered by its elements', async () => {
    const batch = [claim(), brokenClaim(), claim(), 7];
    const answer = await send(its.parley, ` \n${JSON.stringify(batch, null, 2)}`);
    assert.equal(answer.status, 200, answer.text);
    assert.match(answer.headers['content-type'], /^application\/x-ndjson\b/);
    assert.deepEqual(statuses(answer), [
      [1, 'accepted'],
      [2, 'invalid'],
      [3, 'accepted'],
      [4, 'invalid'],
    ]);
    assert.deepEqual(ruleIds(answer.lines[3].violations), ['GW-006']);
    assert.deepEqual(summaryOf(answer), {
      received: 4,
      accepted: 2,
      duplicate: 0,
      invalid: 2,
      failed: 0,
    });
  });

  for (const empty of ['[]', ' [ \n ] \n']) {
    it(`written ${JSON.stringify(empty)} gets a summary of nothing`, async () => {
      const answer = await send(its.parley, empty);
      assert.deepEqual(summaryOf(answer), {
        received: 0,
        accepted: 0,
        duplicate: 0,
        invalid: 0,
        failed: 0,
      });
      assert.equal(answer.lines.length, 1);
    });
  }

  it('places a violation by the line of the body', async () => {
    const text = `[\n${JSON.stringify(claim())},\n${JSON.stringify(claim({ confidence: 7 }))}\n]`;
    const answer = await send(its.parley, text);
    const [violation] = answer.lines[1].violations;
    const line = text.split('\n')[2];
    const column = line.indexOf('"confidence":7') + '"confidence":'.length + 1;
    assert.deepEqual(violation.at, { line: 3, column });
  });

  for (const [what, tail] of [
    ['a syntax error', ',{"id" 7},{"id":"MSG3"}]'],
    ['an element missing', ',,{}]'],
    ['no end', ','],
    ['a comma too many', ',]'],
    ['something after its end', '] {}'],
  ]) {
    it(`with ${what} gets one GW-001 and the summary, after what could be read`, async () => {
      const answer = await send(its.parley, `[${JSON.stringify(claim())}${tail}`);
      assert.equal(answer.status, 200, answer.text);
      const results = answer.lines;
      assert.equal(results.length, 3, answer.text);
      assert.deepEqual([results[0].line, results[0].status], [1, 'accepted']);
      assert.equal(results[1].status, 'invalid');
      assert.deepEqual(ruleIds(results[1].violations), ['GW-001']);
      assert.equal(summaryOf(answer).accepted, 1);
    });
  }

  it('goes on after a number that nothing holds and after a lone surrogate', async () => {
    const message = JSON.stringify(claim());
    const text = `[${message},{"timestamp":1e400},{"id":"\\ud800"},${JSON.stringify(claim())}]`;
    const answer = await send(its.parley, text);
    assert.equal(answer.lines.length, 5, answer.text);
    assert.deepEqual(ruleIds(answer.lines[1].violations), ['GW-001']);
    assert.deepEqual(ruleIds(answer.lines[2].violations), ['GW-001']);
    assert.equal(answer.lines[3].status, 'accepted');
  });

  it('with a fault in one element that is no syntax error goes on', async () => {
    const text = `[{"a":1,"a":2},[[]],${JSON.stringify(claim())}]`;
    const answer = await send(its.parley, text);
    assert.deepEqual(statuses(answer), [
      [1, 'invalid'],
      [2, 'invalid'],
      [3, 'accepted'],
    ]);
    assert.deepEqual(ruleIds(answer.lines[0].violations), ['GW-003']);
    assert.deepEqual(ruleIds(answer.lines[1].violations), ['GW-006']);
  });

  it('with an element over the limit gets GW-002 for it, and goes on', async () => {
    const large = claim({ content: 'x'.repeat(1024 * 1024) });
    const answer = await send(its.parley, [claim(), large, claim()]);
    assert.deepEqual(statuses(answer), [
      [1, 'accepted'],
      [2, 'invalid'],
      [3, 'accepted'],
    ]);
    assert.deepEqual(ruleIds(answer.lines[1].violations), ['GW-002']);
  });

  it('may be longer than a message may be', async () => {
    const answer = await send(its.parley, claims(40, { content: 'x'.repeat(100_000) }));
    assert.equal(summaryOf(answer).accepted, 40);
  });

  it('sent one byte at a time is the same', async (t) => {
    const connection = await rawFor(t, its.parley);
    const bytes = rawPost('/v1/vlp/messages', JSON.stringify([claim(), claim()]));
    for (const byte of bytes) await connection.write(Buffer.from([byte]));
    assert.match((await connection.answer()).text, /"accepted":2/);
  });
});

describe('many messages to /validate', () => {
  const its = useParley();

  it('get a verdict each with its line, then the summary', async () => {
    const batch = [claim(), brokenClaim(), '{'];
    const answer = await validateLines(its.parley, `\n${lines(batch)}`);
    assert.equal(answer.status, 200, answer.text);
    assert.match(answer.headers['content-type'], /^application\/x-ndjson\b/);
    const [first, second, third, last] = answer.lines;
    assert.deepEqual(first, {
      line: 2,
      valid: true,
      protocol: 'vlp',
      type: 'claim',
      id: batch[0].id,
      lane: 'safe',
      subject: 'vlp.safe.claim',
      violations: [],
    });
    assert.deepEqual([second.line, second.valid, second.subject], [3, false, null]);
    assert.deepEqual(ruleIds(second.violations), ['VLP-005']);
    assert.deepEqual([third.line, third.valid, third.id], [4, false, null]);
    assert.deepEqual(last, { summary: { received: 3, valid: 1, invalid: 2 } });
  });

  it('may be an array', async () => {
    const answer = await validate(its.parley, [claim(), brokenClaim()]);
    assert.deepEqual(
      answer.lines.map((line) => line.line),
      [1, 2, undefined],
    );
    assert.deepEqual(answer.lines.at(-1), { summary: { received: 2, valid: 1, invalid: 1 } });
  });

  it('store nothing', async () => {
    const before = await lastSequence(its.nats);
    await validateLines(its.parley, lines(claims(10)));
    assert.equal(await lastSequence(its.nats), before);
  });

  it('with results=errors are told of only where invalid', async () => {
    const batch = lines([claim(), brokenClaim(), claim()]);
    const answer = await validateLines(its.parley, batch, { query: '?results=errors' });
    assert.deepEqual(
      answer.lines.map((line) => line.line),
      [2, undefined],
    );
  });

  it('with results=summary are only counted', async () => {
    const batch = lines([claim(), brokenClaim(), claim()]);
    const answer = await validateLines(its.parley, batch, { query: '?results=summary' });
    assert.deepEqual(answer.lines, [{ summary: { received: 3, valid: 2, invalid: 1 } }]);
  });

  it('with emit=verdicts get what they get without asking', async () => {
    const batch = lines([claim(), brokenClaim()]);
    const asked = await validateLines(its.parley, batch, { query: '?emit=verdicts' });
    assert.equal(asked.text, (await validateLines(its.parley, batch)).text);
  });

  it('with emit=messages are filtered: the valid ones as they were, and nothing else', async () => {
    const one =
      '{"id" : "MSG1","protocol":"VLP/1.1","type":"notice","timestamp":' +
      '"2025-12-14T10:30:00Z","sender":"s","content":"\\u00e9\\u0000","confidence":0.850}';
    const two = JSON.stringify(claim());
    const batch = `${one}\r\n\n{\n${lines([brokenClaim()])}${two}`;
    const answer = await validateLines(its.parley, batch, { query: '?emit=messages' });
    assert.match(answer.headers['content-type'], /^application\/x-ndjson\b/);
    assert.equal(answer.text, `${one}\n${two}\n`);
  });

  it('with emit=messages come one a line, even from an array that spans lines', async () => {
    const batch = [claim({ content: { a: [1, 2] } }), claim()];
    const text = JSON.stringify(batch, null, 2);
    const answer = await validate(its.parley, text, { query: '?emit=messages' });
    assert.equal(answer.text, lines(batch));
  });

  it('with emit=messages and nothing valid are nothing', async () => {
    const answer = await validateLines(its.parley, '{}\n', { query: '?emit=messages' });
    assert.equal(answer.status, 200);
    assert.equal(answer.text, '');
  });

  it('with emit=both get the verdict with the message', async () => {
    const message = claim();
    const batch = lines([message, brokenClaim()]);
    const answer = await validateLines(its.parley, batch, { query: '?emit=both' });
    const [first, second, last] = answer.lines;
    assert.deepEqual([first.line, first.valid, first.message], [1, true, message]);
    assert.deepEqual([second.line, second.valid], [2, false]);
    assert.deepEqual(last, { summary: { received: 2, valid: 1, invalid: 1 } });
  });

  it('with emit=both come with their numbers as they were written', async () => {
    const text = JSON.stringify(claim({ payload: {} })).replace('{}', '{"n":1.50e2}');
    const answer = await validateLines(its.parley, `${text}\n`, { query: '?emit=both' });
    assert.ok(answer.text.includes('1.50e2'), answer.text);
  });

  it('that nobody can be told of are refused before they are read', async () => {
    const options = { headers: { Accept: 'image/png' } };
    assertProblem(await validateLines(its.parley, '{}\n', options), 406, 'not-acceptable');
  });
});

describe('Accept (contract 8)', () => {
  const its = useParley();
  const as = (accept) => ({ headers: { Accept: accept } });

  it('of several lines is one list', async () => {
    for (const accept of [['text/plain', 'application/json'], ['a/b', 'c/d;q=0.1', 'application/*']]) {
      assertAccepted(await send(its.parley, claim(), as(accept)));
    }
    assertProblem(await send(its.parley, claim(), as(['text/plain', 'a/b'])), 406, 'not-acceptable');
  });

  it('application/json makes one document of the results of many', async () => {
    const batch = lines([claim(), brokenClaim(), claim()]);
    const answer = await sendLines(its.parley, batch, as('application/json'));
    assert.equal(answer.status, 200);
    assert.match(answer.headers['content-type'], /^application\/json/);
    const { results, summary } = answer.json;
    assert.deepEqual(results.map(({ status }) => status), ['accepted', 'invalid', 'accepted']);
    assert.deepEqual([summary.received, summary.accepted, summary.invalid], [3, 2, 1]);
  });

  it('application/json makes an array of the messages of a filter', async () => {
    const messages = [claim(), claim()];
    const options = { query: '?emit=messages', ...as('application/json') };
    const answer = await validateLines(its.parley, lines([...messages, brokenClaim()]), options);
    assert.deepEqual(answer.json, messages);
  });

  it('application/json of 20,000 results is whole, though it is sent as they come', async () => {
    const options = { query: '?results=all', ...as('application/json') };
    const answer = await validateLines(its.parley, 'x\n'.repeat(20_000), options);
    assert.equal(answer.json.results.length, 20_000);
    assert.equal(answer.json.summary.invalid, 20_000);
  });

  it('application/x-ndjson makes a batch of one message', async () => {
    const answer = await send(its.parley, claim(), as('application/x-ndjson'));
    assert.equal(answer.status, 200);
    assert.match(answer.headers['content-type'], /^application\/x-ndjson/);
    const [result, last] = answer.lines;
    assert.deepEqual([result.line, result.status], [1, 'accepted']);
    assert.equal(last.summary.accepted, 1);
  });

  it('application/x-ndjson makes an invalid message an invalid line', async () => {
    const answer = await send(its.parley, brokenClaim(), as('application/x-ndjson'));
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.lines.map((each) => each.status), ['invalid', undefined]);
  });

  it('and what is wrong with the request is a problem document whatever it says', async () => {
    const answer = await send(its.parley, claim(), {
      query: '?strict=maybe',
      ...as('application/x-ndjson'),
    });
    assertProblem(answer, 400, 'invalid-parameter');
  });
});
