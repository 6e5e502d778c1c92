// SPDX-License-Identifier: Apache-2.0
// The console's lists: they are followed, also after a lost connection, and asked for where that
// cannot be; how many streams the windows of a browser have; and what waits for an acknowledgement.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { atEnd } from './lib/cleanup.mjs';
import { assertNoFaults, findings, inBrowser, openPage, setHidden, useBrowser } from './lib/console.mjs';
import { block, release, session } from './lib/halts.mjs';
import { get, post, send } from './lib/http.mjs';
import { startNats } from './lib/nats.mjs';
import { parleyFor, useParley } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { heartbeat, sendTask, taskClaimed, taskRequest, taskResult } from './lib/roundtable.mjs';
import { assertAccepted, claim } from './lib/vlp.mjs';

const TASKS = '/v1/roundtable/tasks';
const FOLLOWED = 'Kept current', ASKED = 'Asked for every 3 s';

const rowOf = (page, text) => page.getByRole('row', { name: text });
const inTasks = (page, text) => page.locator('[aria-labelledby=tasks]').getByText(text);
const inAgents = (page, text) => page.locator('[aria-labelledby=agents-roundtable]').getByText(text);

async function requested(server, name) {
  const task = taskRequest(name);
  assertAccepted(await sendTask(server, task));
  return task;
}

// What the page asks of the list of tasks: 'follow' and 'list'.
function watch(page) {
  const asked = [];
  page.on('request', (request) => {
    const { pathname, searchParams } = new URL(request.url());
    if (pathname === TASKS && !searchParams.has('holder')) asked.push(searchParams.has('follow') ? 'follow' : 'list');
  });
  return asked;
}

describe('Work', { concurrency: false, ...inBrowser }, () => {
  const its = useParley();
  const browser = useBrowser();

  it('asks for the tasks once, follows them by one response, and shows each change', async (t) => {
    const first = await requested(its.parley, 'follow.first');
    const page = await openPage(await browser.context(t), its.parley);
    const asked = watch(page);
    await page.getByRole('link', { name: 'Work', exact: true }).first().click();
    await inTasks(page, FOLLOWED).waitFor();
    assertAccepted(await sendTask(its.parley, taskClaimed(first.id, { from: 'galahad' })));
    await rowOf(page, /follow.first claimed galahad/).waitFor();
    await requested(its.parley, 'follow.second');
    await rowOf(page, /follow.second requested/).waitFor();
    assertAccepted(await sendTask(its.parley, taskResult(first.id, { from: 'galahad' })));
    await rowOf(page, /follow.first completed galahad/).waitFor();
    // The newest first, as the list has them.
    const { items } = (await get(its.parley, TASKS)).json;
    assert.deepEqual(await page.locator('[aria-labelledby=tasks] tbody button').allTextContents(), items.map(({ task }) => task));
    await page.waitForTimeout(7000); // in which it would have asked twice
    assert.deepEqual(asked, ['list', 'follow']);
    assertNoFaults(page);
  });

  it('follows what its filters choose, and lets go what they choose no more', async (t) => {
    const task = await requested(its.parley, 'filtered.one');
    const page = await browser.open(t, its.parley, 'work?domain=filtered&state=requested');
    await rowOf(page, /filtered.one/).waitFor();
    await inTasks(page, FOLLOWED).waitFor();
    assertAccepted(await sendTask(its.parley, taskClaimed(task.id, { from: 'bors' })));
    await rowOf(page, /filtered.one/).waitFor({ state: 'detached' });
    await page.getByText('No task matches.').waitFor();
    assertNoFaults(page);
  });

  const problem = (status, type) => (route) =>
    route.fulfill({ status, contentType: 'application/problem+json', body: JSON.stringify({ type: `/problems/${type}`, title: type, status, detail: type }) });
  for (const [what, answer] of [
    ['has too many readers', problem(429, 'too-many-streams')],
    ['is overloaded', problem(503, 'overloaded')],
    ['knows no such option', problem(400, 'bad-request')],
    ['answers with the list all the same, as JSON', (route) => route.fulfill({ contentType: 'application/json', body: '{"items":[]}' })],
    ['answers with the list all the same, as lines', (route) => route.fulfill({ contentType: 'application/x-ndjson', body: '{"id":"one"}\n' })],
  ]) {
    it(`asks again and again where the server ${what}`, async (t) => {
      const context = await browser.context(t);
      await context.route(`**${TASKS}?*follow=true*`, answer);
      const page = await openPage(context, its.parley, 'work?domain=fallback');
      await inTasks(page, ASKED).waitFor();
      const task = await requested(its.parley, 'fallback.one');
      await rowOf(page, new RegExp('fallback.one requested')).first().waitFor();
      assertAccepted(await sendTask(its.parley, taskClaimed(task.id, { from: 'bors' })));
      await rowOf(page, /fallback.one claimed bors/).first().waitFor();
      assert.equal(await inTasks(page, FOLLOWED).count(), 0);
      assertNoFaults(page);
    });
  }

  it('follows again once it may', async (t) => {
    const context = await browser.context(t);
    let refusals = 0;
    await context.route(`**${TASKS}?*follow=true*`, (route) => (refusals++ < 2 ? problem(429, 'too-many-streams')(route) : route.continue()));
    const page = await openPage(context, its.parley, 'work');
    await inTasks(page, FOLLOWED).waitFor();
    assert.ok(refusals > 2);
    assertNoFaults(page);
  });
});

describe('Work and Decide', { concurrency: false, ...inBrowser }, () => {
  const its = useParley();
  const browser = useBrowser();

  it('follow agents and halts, and show each change without asking again', async (t) => {
    const context = await browser.context(t);
    const page = await openPage(context, its.parley, 'work');
    await inAgents(page, FOLLOWED).waitFor();
    const asked = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    assertAccepted(await sendTask(its.parley, heartbeat('tristan', { payload: { status: 'idle', version: '7.1' } })));
    await rowOf(page, /^tristan alive .* 7\.1/).waitFor();
    await page.waitForTimeout(4000); // in which it would have asked
    assert.deepEqual(asked.filter((path) => path.endsWith('/agents')), []);
    await page.goto(`${its.parley.url}/#decide`);
    await page.getByText('Nothing is halted.').waitFor();
    await page.locator('[aria-labelledby=halts]').getByText(FOLLOWED).waitFor();
    asked.length = 0;
    const halted = [session(), session()];
    for (const one of halted) assertAccepted(await send(its.parley, block(one)));
    for (const one of halted) await page.getByText(`Session ${one}`).waitFor();
    const newest = await page.locator('[aria-labelledby=halts] li strong').first().textContent();
    assert.equal(newest, `Session ${halted[1]}`);
    await release(its.parley, halted[0]);
    await page.getByText(`Session ${halted[0]}`).waitFor({ state: 'detached' });
    await page.getByText(`Session ${halted[1]}`).waitFor();
    assert.deepEqual(asked.filter((path) => path.endsWith('/halts')), []);
    assertNoFaults(page);
  });

  it('show on a phone who holds a task since when, without scrolling sideways', async (t) => {
    const { id } = await requested(its.parley, 'phone.one');
    assertAccepted(await sendTask(its.parley, taskClaimed(id, { from: 'galahad' })));
    const page = await browser.open(t, its.parley, 'work?domain=phone', { width: 390, height: 844 });
    const row = rowOf(page, /phone.one.* claimed.* galahad/);
    const since = row.getByRole('cell').nth(4);
    await since.getByText(/\d\d:\d\d:\d\d/).waitFor();
    assert.equal(await since.getAttribute('data-name'), 'Held since');
    for (const cell of await row.getByRole('cell').all()) {
      const { x, width } = (await cell.boundingBox()) ?? { x: 0, width: 0 }; // what is empty is not shown
      assert.ok(x >= 0 && x + width <= 390, `a cell is at ${x}, ${width} wide`);
    }
    assert.equal(await page.locator('.scroll').evaluateAll((all) => all.filter((one) => one.scrollWidth > one.clientWidth).length), 0);
    assert.deepEqual(await findings(page), []);
    assertNoFaults(page);
  });
});

describe('eight windows of one browser', { concurrency: false, ...inBrowser }, () => {
  const its = useParley();
  const browser = useBrowser();
  const LIVE = 'Live ·', QUEUED = 'Waiting until another window';

  it('have five streams at most, so that a request is always answered, and Live comes before lists', async (t) => {
    const context = await browser.context(t);
    const pages = [];
    const open = async (address) => pages[pages.push(await openPage(context, its.parley, address)) - 1];
    await inTasks(await open('work'), FOLLOWED).waitFor();
    const lives = [];
    for (let i = 0; i < 5; i++) await (lives[i] = await open('live')).getByText(LIVE).waitFor();
    await inTasks(pages[0], ASKED).waitFor(); // Live has taken its place
    const other = await open('work');
    await inTasks(other, ASKED).waitFor();
    const last = await open('live');
    await last.getByText(QUEUED).waitFor();
    const sent = claim({ sender: 'eighth' });
    assertAccepted(await send(its.parley, sent));
    for (const page of lives) await rowOf(page, sent.id).waitFor();
    for (const page of pages) assert.equal(await page.evaluate(() => fetch('/v1/whoami').then(({ status }) => status)), 200);
    await lives[0].close();
    await rowOf(last, sent.id).waitFor();
    for (const page of [...lives.slice(1), other]) await page.close(); // either window of Work could have the places
    await inTasks(pages[0], FOLLOWED).waitFor();
    for (const page of [pages[0], last]) assertNoFaults(page);
  });

  it('leave a place to others while they are hidden, also when they are paused', async (t) => {
    const page = await browser.open(t, its.parley, 'live');
    await page.getByText(LIVE).waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    const places = () => page.evaluate(async () => (await navigator.locks.query()).held.length);
    for (let i = 0; i < 3; i++) {
      await setHidden(page, true);
      await until('it has no place', async () => (await places()) === 0);
      await setHidden(page, false);
      await until('it has one place', async () => (await places()) === 1);
      // The paused reading begins once the answer is there.
      await page.locator('.dot.open').first().waitFor();
    }
    const sent = claim({ sender: 'paused' });
    assertAccepted(await send(its.parley, sent));
    await page.getByRole('button', { name: 'Go on' }).click();
    await rowOf(page, sent.id).waitFor();
    assertNoFaults(page);
  });

  it('follow one list each where the browser has no Web Locks', async (t) => {
    const context = await browser.context(t);
    await context.addInitScript(() => Object.defineProperty(navigator, 'locks', { value: undefined }));
    const page = await openPage(context, its.parley, 'work');
    await page.getByText(FOLLOWED).waitFor();
    await page.waitForTimeout(2000);
    assert.equal(await page.getByText(FOLLOWED).count(), 1);
    assert.ok((await page.getByText(ASKED).count()) >= 1);
    await page.goto(`${its.parley.url}/#live`);
    await page.getByText(LIVE).waitFor();
    await page.goto(`${its.parley.url}/#decide`);
    await page.locator('[aria-labelledby=halts]').getByText(FOLLOWED).waitFor();
    assertNoFaults(page);
  });
});

describe('Work, whose connection is lost', { ...inBrowser }, () => {
  const browser = useBrowser();

  it('shows what changed meanwhile, with another gateway too, and nothing twice', async (t) => {
    const nats = await startNats();
    atEnd(t, () => nats.stop());
    const other = await parleyFor(t, { nats: nats.url });
    let shown = await parleyFor(t, { nats: nats.url });
    const task = await requested(other, 'lost.one');
    const page = await browser.open(t, shown, 'work');
    await rowOf(page, /lost.one requested/).waitFor();
    await inTasks(page, FOLLOWED).waitFor();
    const { port } = shown;
    await shown.stop();
    await inTasks(page, ASKED).waitFor();
    assertAccepted(await sendTask(other, taskClaimed(task.id, { from: 'bors' })));
    await requested(other, 'lost.two');
    shown = await parleyFor(t, { nats: nats.url, listen: `127.0.0.1:${port}` });
    await inTasks(page, FOLLOWED).waitFor();
    await rowOf(page, /lost.one claimed bors/).waitFor();
    await rowOf(page, /lost.two requested/).waitFor();
    // A hidden tab has no connection, and goes on from its token.
    await setHidden(page, true);
    await until('it has no reader', async () => !/parley_stream_readers [1-9]/.test((await get(shown, '/metrics')).text));
    assertAccepted(await sendTask(other, taskResult(task.id, { from: 'bors' })));
    await setHidden(page, false);
    await rowOf(page, /lost.one completed bors/).waitFor();
    assert.equal(await page.locator('[aria-labelledby=tasks] tbody tr').count(), 2);
    assertNoFaults(page);
  });
});

describe('Work, with an index', { ...inBrowser }, () => {
  const its = useParley({ args: ['--index', 'on'] });
  const browser = useBrowser();

  it('shows what waits for an acknowledgement, of whom and since when, and leads to its story', async (t) => {
    const message = { id: 'q-1', thread_id: 'RS-20260101-heat', from: 'Ann', to: ['Bob', 'Cleo'], subject: 'QUESTION: Why is it warm',
      body_md: '# Q\n\n## Question\nWhy?\n\n## Urgency\nBlocking\n', ack_required: true };
    assertAccepted(await post(its.parley, '/v1/brenner/messages', JSON.stringify(message)));
    await until('the index has it', async () => (await get(its.parley, '/v1/brenner/acks?open=true')).json.items?.length === 2);
    for (const options of [{}, { width: 390, height: 844, scheme: 'dark' }]) {
      const page = await browser.open(t, its.parley, 'work', options);
      await rowOf(page, /Bob .*question urgent .*Ann .* QUESTION: Why is it warm/).waitFor();
      assert.deepEqual(await findings(page), []);
      await rowOf(page, /Cleo .*question/).getByRole('link').click();
      await page.getByRole('heading', { name: 'Stories', level: 1 }).waitFor();
      await page.getByText('1 messages of').waitFor();
      assertNoFaults(page);
    }
  });
});
