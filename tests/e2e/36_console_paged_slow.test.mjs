// SPDX-License-Identifier: Apache-2.0
// The console's lists that have more than one page: each is shown whole, a page at a time, by keyboard; and
// trees that are deeper than is shown.

import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { assertNoFaults, findings, inBrowser, openPage, useBrowser } from './lib/console.mjs';
import { review } from './lib/halts.mjs';
import { get, post, sendLines } from './lib/http.mjs';
import { useParley } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { assertDecided, decide, decision, reviewsOf } from './lib/reviews.mjs';
import { heartbeat, sendTask } from './lib/roundtable.mjs';
import { assertAccepted, claim, lines } from './lib/vlp.mjs';

const SESSIONS = 230, REVIEWS = 130, DECIDED = 120, REFUSED = 140, AGENTS = 1050, CHECKPOINTS = 110, RECIPIENTS = 40, ASKING = 3;
const SHOW_MORE = /^Show more/;

const times = (number, make) => Array.from({ length: number }, (_, i) => make(i));

async function stored(server, messages) {
  const { status, text } = await sendLines(server, lines(messages));
  assert.equal(status, 200, text);
}

const show = (name) => (page) => page.getByRole('button', { name, exact: true }).click();
const open = (text) => (page) => page.locator('summary', { hasText: text }).click();

// What the list has, where it is, what its items and their names are, how many are in a page and in all,
// and what shows it.
const LISTS = [
  ['conversations', 'stories?protocol=vlp', 'main', 'tbody tr', 100, SESSIONS],
  ['reviews', 'decide', '[aria-labelledby=reviews]', 'ul.cards > li', 100, REVIEWS],
  ['decisions', 'decide', 'details:has(table)', 'tbody tr', 100, DECIDED, open('Decided lately')],
  ['messages', 'decide', '[aria-labelledby=refused]', '.catalogue > details', 100, REFUSED],
  ['acknowledgements', 'work', '[aria-labelledby=acks-brenner]', 'tbody tr', 100, ASKING * RECIPIENTS],
  ['agents', 'work', '[aria-labelledby=agents-roundtable]', 'tbody tr', 1000, AGENTS],
  ['checkpoints', 'work', '[aria-label=Agent]', 'ul.plain > li', 100, CHECKPOINTS, show('scribe')],
];

async function fill(server) {
  const others = times(SESSIONS - 3, (i) => claim({ session_id: `S-${i}` }));
  await stored(server, [...others, ...times(DECIDED, () => review('S-decided'))]);
  for (const [i, { message }] of (await reviewsOf(server, 'limit=1000')).items.entries()) {
    assertDecided(await decide(server, message, decision({ reason: `Reason ${i}.` })));
  }
  await stored(server, [...times(REVIEWS, () => review('S-review')), ...times(REFUSED, (i) => claim({ session_id: 'S-refused', sender: `refused-${i}`, confidence: 7 }))]);
  await stored(server, [claim({ session_id: 'S-refused' })]);
  const beats = await sendTask(server, times(AGENTS, (i) => heartbeat(`agent-${i}`)));
  assert.equal(beats.status, 200, beats.text);
  for (let i = 0; i < CHECKPOINTS; i++) {
    const message = { type: 'checkpoint', timestamp: 1705392000 + i, data: { messages: [], memory_blocks: [] } };
    const { status, text } = await post(server, '/v1/supervisor/messages?agent=scribe', JSON.stringify(message));
    assert.equal(status, 200, text);
  }
  for (let i = 0; i < ASKING; i++) {
    assertAccepted(await post(server, '/v1/brenner/messages', JSON.stringify({
      thread_id: 'RS-20260101-heat', from: 'Ann', to: times(RECIPIENTS, (one) => `Bob${one}`), subject: `QUESTION: Why is it warm (${i})`,
      body_md: '# Q\n\n## Question\nWhy?\n', ack_required: true })));
  }
  await until('the index has them', async () => {
    const { items } = (await get(server, '/v1/brenner/acks?open=true&limit=1000')).json;
    return items.length === ASKING * RECIPIENTS && (await get(server, '/v1/vlp/threads?limit=1000')).json.items.length === SESSIONS;
  });
}

const focused = (item) => item.evaluate((node) => node === document.activeElement);

// From the last item that is shown to the button below it, and presses it.
async function showMore(page, list, item, shown) {
  const button = list.getByRole('button', { name: SHOW_MORE });
  const last = item.nth(shown - 1);
  await last.evaluate((node) => {
    node.tabIndex = -1;
    node.focus();
  });
  for (let i = 0; i < 8 && !(await focused(button)); i++) await page.keyboard.press('Tab');
  assert.ok(await focused(button), 'the button follows the last item');
  await page.keyboard.press('Enter');
}

describe('a list of several pages', { concurrency: false, ...inBrowser }, () => {
  const its = useParley({ args: ['--quarantine', '--index', 'on'] });
  const browser = useBrowser();

  before(() => fill(its.parley));

  for (const [what, address, place, items, size, total, prepare] of LISTS) {
    it(`shows all ${what} by keyboard, a page at a time, and the focus is on the first that is new`, async (t) => {
      const page = await browser.open(t, its.parley, address);
      await prepare?.(page);
      const list = page.locator(place);
      const item = list.locator(items);
      for (let shown = size; shown < total; shown += size) {
        await list.getByRole('button', { name: `Show more (${shown} ${what} shown)`, exact: true }).waitFor();
        assert.equal(await item.count(), shown);
        const next = Math.min(shown + size, total);
        await showMore(page, list, item, shown);
        await list.getByText(`${next < total ? '' : 'All '}${next} ${what} are shown`).waitFor();
        await until('the focus is on the first new item', () => focused(item.nth(shown)));
      }
      assert.equal(await list.getByRole('button', { name: SHOW_MORE }).count(), 0);
      assert.equal(new Set(await item.allTextContents()).size, total);
      assert.deepEqual(await findings(page), []);
      assertNoFaults(page);
    });
  }

  it('is asked for again with all pages that are shown', async (t) => {
    const page = await browser.open(t, its.parley, 'decide');
    const list = page.locator('[aria-labelledby=reviews]'), item = list.locator('ul.cards > li');
    await list.getByRole('button', { name: SHOW_MORE }).click();
    await list.getByText(`All ${REVIEWS} reviews are shown`).waitFor();
    const { items } = await reviewsOf(its.parley, 'limit=1000');
    for (const { message } of [items[0], items.at(-1)]) assertDecided(await decide(its.parley, message, decision()));
    await list.getByText(`All ${REVIEWS - 2} reviews are shown`).waitFor();
    assert.equal(await item.count(), REVIEWS - 2);
    assertNoFaults(page);
  });

  const THREADS = '/v1/vlp/threads';
  const answered = (items, next) => ({ contentType: 'application/json', body: JSON.stringify({ items, next }) });
  const thread = (name) => ({ thread: name, count: 1, first: null, last: null });

  it('goes past pages without items', async (t) => {
    const pages = { null: answered([], 'a'), a: answered([thread('one')], 'b'), b: answered([], 'c'), c: answered([thread('two')], 'd'), d: answered([], null) };
    const context = await browser.context(t);
    await context.route(`**${THREADS}*`, (route) => route.fulfill(pages[new URL(route.request().url()).searchParams.get('cursor')]));
    const page = await openPage(context, its.parley, 'stories?protocol=vlp');
    const button = page.getByRole('button', { name: SHOW_MORE });
    await page.getByRole('button', { name: 'Show more (1 conversations shown)' }).press('Enter');
    await page.getByRole('button', { name: 'Show more (2 conversations shown)' }).press('Enter');
    const status = page.getByText('All 2 conversations are shown');
    await status.waitFor();
    await until('the focus is on what it says', () => focused(status));
    assert.equal(await button.count(), 0);
    assert.deepEqual(await page.locator('#main tbody button').allTextContents(), ['one', 'two']);
    assertNoFaults(page);
  });

  it('keeps what is shown where the next page cannot be had, and asks again', async (t) => {
    let isAway = true;
    const context = await browser.context(t);
    await context.route(`**${THREADS}?*cursor=*`, (route) => (isAway
      ? route.fulfill({ status: 503, contentType: 'application/problem+json', body: '{"status":503,"detail":"It is away."}' })
      : route.continue()));
    const page = await openPage(context, its.parley, 'stories?protocol=vlp');
    const button = page.getByRole('button', { name: SHOW_MORE });
    await button.press('Enter');
    await page.getByRole('alert').getByText('It is away.').waitFor();
    assert.equal(await page.locator('#main tbody tr').count(), 100);
    assert.ok(await focused(button));
    isAway = false;
    await button.press('Enter');
    await page.getByText('200 conversations are shown').waitFor();
    assert.equal(await page.getByRole('alert').count(), 0);
    assertNoFaults(page);
  });
});

describe('Stories', { ...inBrowser }, () => {
  const its = useParley();
  const browser = useBrowser();
  const CHAIN = 70, DEPTH_MAX = 64;

  it('says how many messages are too deep in a conversation to be shown', async (t) => {
    const chain = [];
    for (let i = 0; i < CHAIN; i++) chain.push(claim({ session_id: 'S-deep', ...(i > 0 && { refers_to: [chain[i - 1].id] }) }));
    await stored(its.parley, chain);
    const page = await browser.open(t, its.parley, 'stories?protocol=vlp&thread=S-deep');
    await page.getByText(`${CHAIN} messages of`).waitFor();
    await page.getByText(`${CHAIN - 1 - DEPTH_MAX} more below this, too deep to be shown here.`).waitFor();
    assert.equal(await page.locator('ul.thread li').count(), DEPTH_MAX + 1);
    for (const width of [1440, 390]) {
      await page.setViewportSize({ width, height: 900 });
      const last = await page.locator('ul.thread summary').last().boundingBox();
      assert.ok(last.width > width / 3, `the deepest is ${last.width} wide`);
    }
    assertNoFaults(page);
  });
});
