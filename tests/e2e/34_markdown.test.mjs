// SPDX-License-Identifier: Apache-2.0
// Markdown in and out: messages converted from and to it, and refusals as the protocol writes them.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertConverted, convert } from './lib/convert.mjs';
import { NDJSON_TYPE, post } from './lib/http.mjs';
import { useParley } from './lib/parley.mjs';
import { assertProblem } from './lib/vlp.mjs';

const MARKDOWN_TYPE = 'text/markdown';

describe('one message', () => {
  const its = useParley();

  it('of Markdown becomes JSON, and that Markdown with the same meaning', async () => {
    const text = '---\nsubject: "INFO: all is well"\nfrom: Ada\nto: [Bob, Eve]\n---\n# Hi\n\n> é ✓\n';
    const json = await convert(its.parley, 'brenner', 'json', text, { type: MARKDOWN_TYPE });
    assertConverted(json, 'application/json');
    const { subject, body_md: body, to } = json.json;
    assert.deepEqual([subject, to], ['INFO: all is well', ['Bob', 'Eve']]);
    assert.equal(body, '# Hi\n\n> é ✓\n');
    const markdown = await convert(its.parley, 'brenner', 'markdown', json.text);
    assertConverted(markdown, MARKDOWN_TYPE);
    const again = await convert(its.parley, 'brenner', 'json', markdown.text, {
      type: MARKDOWN_TYPE,
    });
    assert.deepEqual(again.json, json.json);
  });
});

describe('many messages', () => {
  const its = useParley();

  it('cannot be Markdown, which holds one', async () => {
    const answer = await convert(its.parley, 'brenner', 'markdown', '', { type: NDJSON_TYPE });
    const { detail } = assertProblem(answer, 400, 'invalid-parameter');
    assert.match(detail, /json or ndjson, or send one message at a time/);
  });
});

describe('Accept: text/markdown on brenner', () => {
  const its = useParley();
  const invalid = JSON.stringify({ subject: 'KICKOFF: x', body_md: '# T\n' });
  const valid = JSON.stringify({ subject: 'INFO: x', body_md: 'y' });

  const ask = (what, body, accept = MARKDOWN_TYPE) =>
    post(its.parley, `/v1/brenner/${what}`, body, { headers: { Accept: accept } });

  function assertRefusal(answer, status, rule) {
    assert.equal(answer.status, status, answer.text);
    assert.match(answer.headers['content-type'], /^text\/markdown\b/);
    assert.match(answer.text, /^# Validation Error\n/);
    assert.ok(answer.text.includes(rule), answer.text);
  }

  it('gets a refusal as the protocol writes it', async () => {
    assertRefusal(await ask('messages', invalid), 422, 'MB-003');
    assertRefusal(await ask('messages', '{'), 400, 'GW-001');
    assertRefusal(await ask('messages', ' '.repeat(2 << 20)), 413, 'GW-002');
    assertRefusal(await ask('validate', invalid), 200, 'MB-003');
    assertRefusal(await ask('convert?to=markdown', invalid), 422, 'MB-003');
  });

  it('gets everything else as ever', async () => {
    assert.equal((await ask('messages', valid)).json.duplicate, false);
    assert.equal((await ask('validate', valid)).json.valid, true);
    assertProblem(await ask('messages?strct=1', valid), 400, 'invalid-parameter');
    assertProblem(
      await post(its.parley, '/v1/vlp/messages', '{}', { headers: { Accept: MARKDOWN_TYPE } }),
      406,
      'not-acceptable',
    );
  });

  it('yields to JSON unless q says otherwise', async () => {
    for (const accept of ['*/*', 'text/markdown, application/json', 'text/markdown;q=0.9, */*']) {
      assertProblem(await ask('messages', invalid, accept), 422, 'invalid-message');
    }
    assertRefusal(await ask('messages', invalid, 'text/markdown, */*;q=0.5'), 422, 'MB-003');
  });
});
