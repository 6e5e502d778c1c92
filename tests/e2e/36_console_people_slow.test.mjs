// SPDX-License-Identifier: Apache-2.0
// The console in the hands of people: each of its actions by keyboard alone, and how many clicks an
// operator needs who begins at its first page.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { assertNoFaults, findings, inBrowser, useBrowser } from './lib/console.mjs';
import { block, halts, review, session } from './lib/halts.mjs';
import { get, post, send } from './lib/http.mjs';
import { useParley } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { temporaryFolder } from './lib/program.mjs';
import { heartbeat, sendTask, taskFailed, taskRequest } from './lib/roundtable.mjs';
import { createToken } from './lib/tokens.mjs';
import { boardOf, nextTask } from './lib/work.mjs';
import { assertAccepted, brokenClaim, claim, uniqueId } from './lib/vlp.mjs';

const TAB_MAX = 150;

// Moves the focus until it is on this place.
async function tabTo(page, place) {
  await place.first().waitFor();
  for (let i = 0; i < TAB_MAX; i++) {
    if (await place.first().evaluate((node) => node === document.activeElement)) return;
    await page.keyboard.press('Tab');
  }
  assert.fail(`${place} is not reached by Tab`);
}

const button = (name) => (page) => page.getByRole('button', { name, exact: true });
const link = (name) => (page) => page.getByRole('link', { name });
const field = (name) => (page) => page.getByLabel(name, { exact: true });
const summary = (text) => (page) => page.locator('summary', { hasText: text });
const status = (text) => (page) => page.getByText(text).first().waitFor();

const press = (place, key = 'Enter') => async (page) => {
  await tabTo(page, place(page));
  await page.keyboard.press(key);
};
const write = (place, text) => async (page) => {
  await tabTo(page, place(page));
  await page.keyboard.type(text);
};
// A dialog has its focus in its first field; Enter sends it.
const answer = (...texts) => async (page) => {
  await page.getByRole('dialog').waitFor();
  for (const [i, text] of texts.entries()) {
    if (i > 0) await page.keyboard.press('Tab');
    await page.keyboard.type(text);
  }
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
};
const download = (place, form) => async (page) => {
  const [file] = await Promise.all([page.waitForEvent('download'), press(place)(page)]);
  assert.match(file.suggestedFilename(), form);
};

async function failedTask(server, name) {
  const task = taskRequest(name);
  assertAccepted(await sendTask(server, task));
  assertAccepted(await sendTask(server, taskFailed(task.id, { from: task.from })));
}

async function heldTasks(server, domain, count) {
  for (let i = 0; i < count; i++) {
    assertAccepted(await sendTask(server, taskRequest(`${domain}.task${i}`)));
    assert.equal((await nextTask(server, 'galahad', { domains: [domain] })).status, 200);
  }
}

const statesOf = async (server, domain) => (await boardOf(server, `?domain=${domain}`)).map(({ state }) => state);

// What each action is, where, what it needs, and the steps, of which the last ones wait for the outcome.
const ACTIONS = [
  ['pauses Live, and goes on', 'live', [press(button('Pause')), status('Paused: nothing is lost'), press(button('Go on')), status('Live ·')]],
  ['walks the messages of Live, and closes the details', 'live?since=all&protocol=vlp', [press((page) => page.getByRole('grid', { name: 'Messages' }), 'ArrowDown'),
    (page) => page.getByRole('region', { name: 'Details' }).waitFor(), (page) => page.keyboard.press('Escape'),
    (page) => page.getByRole('region', { name: 'Details' }).waitFor({ state: 'detached' })]],
  ['filters Live by text', 'live?since=all', [write(field('Text'), 'no such text'), status('No message matches')]],
  ['filters Live by protocol', 'live?since=all', [(page) => page.locator('option', { hasText: 'brenner' }).waitFor({ state: 'attached' }),
    press((page) => page.getByRole('combobox', { name: 'Protocol' }), 'b'), (page) => page.waitForURL(/protocol=brenner/)]],
  ['fixes a message', 'try?protocol=vlp', [
    (page) => page.getByRole('textbox', { name: 'Message' }).fill('{"type":"claim","sendr":"Ada","content":"x","confidence":"0.8"}'),
    press(button('Fix')), press(button('Apply all safe fixes')), status(/^Valid$/)]],
  ['renews a message and sends it', 'try?protocol=vlp', [status(/^Valid$/), press(button('New id and time')), press(button('Send it')), status('Stored in VLP as number')]],
  ['copies a message as curl', 'try?protocol=vlp', [status(/^Valid$/), press(button('Copy as curl')), status('Copied')]],
  ['goes from Overview to what a rule refused', 'overview', [press(link('VLP-005')), status(/of the last \d+/)]],
  ['reads how an agent connects', 'overview', [press(button('Connect an agent')), (page) => page.waitForFunction(() => document.activeElement.id === 'begin')]],
  ['opens a rule', 'rules?protocol=vlp', [press(summary('VLP-001')), status('Passes')]],
  ['cancels a task', 'work?domain=keycancel', [press(button('keycancel.one')),
    press((page) => page.getByRole('region', { name: 'Task', exact: true }).getByRole('button', { name: 'Cancel' })), (page) => page.getByRole('dialog').waitFor(),
    (page) => page.keyboard.press('Tab'), answer('not needed'), (page) => page.getByRole('row', { name: /keycancel.one failed/ }).waitFor()],
    async (server) => assertAccepted(await sendTask(server, taskRequest('keycancel.one')))],
  ['tries several tasks again', 'work?domain=keyretry', [press(field('Choose all'), 'Space'), press(button('Try again 2')), answer(), status('2 done, 0 failed')],
    async (server) => { for (const one of ['keyretry.one', 'keyretry.two']) await failedTask(server, one); },
    async (server) => assert.equal((await statesOf(server, 'keyretry')).filter((state) => state === 'requested').length, 2)],
  ['gives several tasks back, each in the name of its holder', 'work?domain=keyback',
    [press(field('Choose all'), 'Space'), press(button('Give back 6')), answer('no tools'), status('6 done, 0 failed')],
    (server) => heldTasks(server, 'keyback', 6),
    async (server) => assert.deepEqual(await statesOf(server, 'keyback'), Array(6).fill('requested'))],
  ['fetches a checkpoint, and what restores from it', 'work', [press(button('scribe')), download(button('Download'), /^scribe-.*\.json$/),
    download(button('Restore from here'), /^scribe-restore-.*\.json$/)]],
  ['releases a halt', 'decide', [press(button('Release')), answer('looked at it', 'Grace'), status('Nothing is halted.')],
    async (server) => assertAccepted(await send(server, block(session()))),
    async (server) => assert.deepEqual((await halts(server)).items, [])],
  ['leaves a dialog where it began', 'decide', [press(button('Approve')), (page) => page.getByRole('dialog').waitFor(), press((page) => page.getByRole('dialog').getByRole('button', { name: 'Cancel' })),
    (page) => page.waitForFunction(() => document.activeElement.textContent === 'Approve')],
    async (server) => assertAccepted(await send(server, review(session())))],
  ['approves a review', 'decide', [press(button('Approve')), answer('Grace', 'The sources hold.'), status(/^Approved: /)],
    async (server) => assertAccepted(await send(server, review(session())))],
  ['rejects a review', 'decide', [press(button('Reject')), answer('Grace', 'There is no source.'), status(/^Rejected: /)],
    async (server) => assertAccepted(await send(server, review(session())))],
  ['reads what was decided lately', 'decide', [press(summary('Decided lately')), (page) => page.getByRole('cell', { name: 'The sources hold.' }).waitFor()]],
  ['checks a refused message again', 'decide', [press(summary('VLP-005')), press(button('Check again')), status('It is still not valid')]],
  ['checks again what could not be read', 'decide?refused=GW-001', [press(summary('GW-001')), press(button('Check again')), status('It is still not valid')],
    async (server) => assert.equal((await post(server, '/v1/vlp/messages', '{"type":')).status, 400)],
  ['opens a conversation and a message of it', 'stories?protocol=vlp', [press(button('S-by-keyboard')), press(summary('vlp.claim')), status('"S-by-keyboard"')]],
];

describe('each action of the console, by keyboard alone,', { concurrency: false, ...inBrowser }, () => {
  const its = useParley({ args: ['--quarantine', '--index', 'on'] });
  const browser = useBrowser();

  before(async () => {
    assertAccepted(await send(its.parley, claim({ session_id: 'S-by-keyboard' })));
    await send(its.parley, brokenClaim());
    for (const { message } of (await get(its.parley, '/v1/protocols/supervisor/examples')).json) {
      await post(its.parley, '/v1/supervisor/messages?stamp=true&agent=scribe', JSON.stringify(message));
    }
    await until('the index has it', async () => (await get(its.parley, '/v1/vlp/threads?thread=S-by-keyboard')).json.items?.length === 1);
  });

  for (const [what, address, steps, prepare, check] of ACTIONS) {
    it(what, async (t) => {
      await prepare?.(its.parley);
      const page = await browser.open(t, its.parley, address);
      for (const step of steps) await step(page);
      await check?.(its.parley);
      assertNoFaults(page);
    });
  }
});

describe('a token, by keyboard alone,', { ...inBrowser }, () => {
  const file = join(temporaryFolder(), 'tokens.json');
  let token;
  before(async () => (token = await createToken(file, 'ada', 'read:*')));
  const browser = useBrowser();
  const its = useParley({ args: ['--tokens', file] });

  it('is given, and forgotten', async (t) => {
    const page = await browser.open(t, its.parley, 'live');
    await answer(token)(page);
    await status('Live ·')(page);
    await press(button('Forget the token'))(page);
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await press(button('Use a token'))(page);
    await answer(token)(page);
    await status('Live ·')(page);
    assertNoFaults(page);
  });
});

// What an operator asks who begins at `/`, what is clicked, and what answers it.
const QUESTIONS = [
  ['why a message was refused', 2, async (page, { refused }) => {
    await page.getByRole('link', { name: 'VLP-005' }).click();
    await page.getByLabel('Rule, sender or text').fill(refused.id);
    await page.getByText(/^1 of the last /).waitFor();
    await page.locator('summary', { hasText: 'VLP-005' }).click();
    await page.locator('.violations', { hasText: '/sender' }).waitFor();
  }],
  ['who holds a task, and since when', 1, async (page) => {
    await page.getByRole('link', { name: 'Work', exact: true }).click();
    await page.getByRole('row', { name: /asked\.who.* claimed.* galahad.* \d\d:\d\d:\d\d/ }).waitFor();
  }],
  ['for a halt to be released', 3, async (page) => {
    await page.getByRole('link', { name: 'Decide', exact: true }).click();
    await page.getByRole('button', { name: 'Release' }).click();
    await page.getByLabel('Reason').fill('looked at it');
    await page.getByLabel('Your name').fill('Grace');
    await page.getByRole('dialog').getByRole('button', { name: 'Release' }).click();
    await page.getByText('Nothing is halted.').waitFor();
  }],
  ['for a review to be approved', 3, async (page) => {
    await page.getByRole('link', { name: 'Decide', exact: true }).click();
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByLabel('Your name').fill('Grace');
    await page.getByLabel('Reason').fill('The sources hold.');
    await page.getByRole('dialog').getByRole('button', { name: 'Approve' }).click();
    await page.getByText('Nothing waits for a review.').waitFor();
  }],
];

for (const options of [{ width: 1440, height: 900 }, { width: 390, height: 844, scheme: 'dark' }]) {
  describe(`an operator at ${options.width} pixels asks`, { concurrency: false, ...inBrowser }, () => {
    const its = useParley({ args: ['--quarantine'] });
    const browser = useBrowser();
    const known = {};

    before(async () => {
      known.refused = brokenClaim({ id: `M-${uniqueId()}` });
      await send(its.parley, known.refused);
      assertAccepted(await sendTask(its.parley, heartbeat('galahad')));
      assertAccepted(await sendTask(its.parley, taskRequest('asked.who')));
      assert.equal((await nextTask(its.parley, 'galahad')).status, 200);
      assertAccepted(await send(its.parley, block(session())));
      assertAccepted(await send(its.parley, review(session())));
    });

    for (const [what, clicks, ask] of QUESTIONS) {
      it(`${what}, by ${clicks} ${clicks === 1 ? 'click' : 'clicks'}`, async (t) => {
        const page = await browser.open(t, its.parley, '', options);
        await page.getByText('Violations and halts, by rule').waitFor();
        await page.evaluate(() => {
          globalThis.clicks = 0;
          addEventListener('click', ({ isTrusted, detail }) => (globalThis.clicks += isTrusted && detail > 0 ? 1 : 0), true);
        });
        await ask(page, known);
        assert.equal(await page.evaluate(() => globalThis.clicks), clicks);
        assert.deepEqual(await findings(page), []);
        const { scrollWidth, innerWidth } = await page.evaluate(() => ({ scrollWidth: document.documentElement.scrollWidth, innerWidth }));
        assert.ok(scrollWidth <= innerWidth, 'it scrolls sideways');
        assertNoFaults(page);
      });
    }
  });
}
