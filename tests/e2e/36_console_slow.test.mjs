// SPDX-License-Identifier: Apache-2.0
// The console as people use it: the main path of each page, what strangers put into messages, lost
// connections, tokens, many messages, and axe-core on every page. 36_console_people_slow has the keyboard.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { atEnd } from './lib/cleanup.mjs';
import { answerDialog, assertNoFaults, findings, inBrowser, openPage, PAGES, setHidden, TITLES, useBrowser } from './lib/console.mjs';
import { assertHalted, block, halts, review, safe, session } from './lib/halts.mjs';
import { get, post, send, sendLines } from './lib/http.mjs';
import { startNats } from './lib/nats.mjs';
import { parleyFor, useParley } from './lib/parley.mjs';
import { until } from './lib/poll.mjs';
import { temporaryFolder } from './lib/program.mjs';
import { heartbeat, sendTask, taskFailed, taskRequest } from './lib/roundtable.mjs';
import { bearer, createToken } from './lib/tokens.mjs';
import { nextTask } from './lib/work.mjs';
import { assertAccepted, brokenClaim, claim, claims, lines } from './lib/vlp.mjs';

const SECONDS = Number(process.env.PARLEY_TEST_SECONDS ?? 60), A_SECOND = 5000, HEAP_BYTES = 20 * 1024 * 1024, CLICK_MS = 100;
const SCRIPT = '<script>globalThis.isAttacked = true</script><img src=x onerror="globalThis.isAttacked = true">';

const rowOf = (page, text) => page.getByRole('row', { name: text });

// What each page has to show.
async function fill(server) {
  const threads = { halted: session(), reviewed: session() };
  assertAccepted(await send(server, block(threads.halted)));
  assertAccepted(await send(server, { ...review(threads.reviewed), sender: 'Ada' }));
  await send(server, brokenClaim());
  const task = taskRequest('security.scan');
  assertAccepted(await sendTask(server, task));
  assertAccepted(await sendTask(server, heartbeat('galahad')));
  return { ...threads, task };
}

describe('each page of the console', { concurrency: false, ...inBrowser }, () => {
  const its = useParley({ args: ['--quarantine'] });
  const browser = useBrowser();
  let filled;
  const filledOnce = async () => (filled ??= await fill(its.parley));

  it('is met by its name, without a finding of weight by axe-core, in light and dark, wide and narrow', async (t) => {
    await filledOnce();
    for (const options of [{}, { scheme: 'dark' }, { width: 390, height: 844 }, { width: 390, height: 844, scheme: 'dark' }]) {
      const page = await browser.open(t, its.parley, '', options);
      for (const name of PAGES) {
        await page.getByRole('link', { name: TITLES[name], exact: true }).first().click();
        await page.getByRole('heading', { name: TITLES[name], level: 1 }).waitFor();
        await page.waitForLoadState('networkidle', { timeout: 3000 }).catch(() => {});
        assert.deepEqual(await findings(page), [], `${name} ${JSON.stringify(options)}`);
        const isTooWide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
        assert.equal(isTooWide, false, `${name} ${JSON.stringify(options)} scrolls sideways`);
      }
      assertNoFaults(page);
    }
  });

  it('has no finding of weight where details and dialogs are open, in light and dark, wide and narrow', async (t) => {
    const { task } = await filledOnce();
    for (const options of [{}, { scheme: 'dark' }, { width: 390, height: 844 }, { width: 390, height: 844, scheme: 'dark' }]) {
      for (const [address, role, open] of [
        ['live?since=all', 'region', (page) => page.getByRole('row').nth(1).click()],
        [`work?shown=${task.id}`, 'region', () => {}],
        ['work?of=roundtable&agent=galahad', 'region', () => {}],
        ['decide', 'dialog', (page) => page.getByRole('button', { name: 'Approve' }).click()],
        ['overview', 'dialog', (page) => page.getByRole('button', { name: 'Use a token' }).click()],
      ]) {
        const page = await browser.open(t, its.parley, address, options);
        await open(page);
        await page.getByRole(role).last().waitFor();
        assert.deepEqual(await findings(page), [], `${address} ${JSON.stringify(options)}`);
        await page.context().close();
      }
    }
  });

  it('Live keeps its filters in the address, shows a message whole, and pauses', async (t) => {
    const thread = session();
    const page = await browser.open(t, its.parley, 'live?protocol=vlp&since=all');
    await page.getByLabel('Thread').fill(thread);
    await page.waitForURL(new RegExp(`thread=${thread}`));
    await page.getByText('No message matches').waitFor();
    const sent = [safe(thread), safe(thread), safe(thread)];
    assertAccepted(await send(its.parley, sent[0]));
    await rowOf(page, sent[0].id).click();
    const details = page.getByRole('region', { name: 'Details' });
    await details.getByText(`"${sent[0].id}"`).hover();
    assert.equal(await details.locator('.path code').textContent(), '/id');
    await page.getByRole('button', { name: 'Pause' }).click();
    assertAccepted(await send(its.parley, sent[1]));
    await page.reload();
    await rowOf(page, sent[1].id).waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    assertAccepted(await send(its.parley, sent[2]));
    await page.getByRole('button', { name: 'Go on' }).click();
    await rowOf(page, sent[2].id).waitFor();
    assert.equal(await page.getByRole('row').count(), 4);
    assertNoFaults(page);
  });

  it('Live shows when a message arrived, not when its sender says it was, to the keyboard and on a phone, too', async (t) => {
    const thread = session();
    const before = Date.now();
    assertAccepted(await send(its.parley, safe(thread)));
    const page = await browser.open(t, its.parley, `live?protocol=vlp&since=all&thread=${thread}`, { width: 390, height: 844 });
    const grid = page.getByRole('grid', { name: 'Messages' });
    const arrived = grid.locator('time').first();
    const stored = Date.parse(await arrived.getAttribute('datetime'));
    assert.ok(before <= stored && stored <= Date.now(), String(stored));
    const here = await page.evaluate((ms) => new Date(ms).toLocaleTimeString([], { hourCycle: 'h23', hour: '2-digit', minute: '2-digit', second: '2-digit' }), stored);
    assert.ok((await arrived.textContent()).endsWith(here), here); // with the day, where it is not today's any more
    const whole = await page.evaluate((ms) => new Date(ms).toLocaleString([], { dateStyle: 'full', timeStyle: 'long' }), stored);
    assert.equal(await arrived.getAttribute('title'), whole);
    const { x, width } = await arrived.boundingBox();
    assert.ok(x >= 0 && x + width <= 390, `it is at ${x}, ${width} wide`);
    await grid.focus();
    await page.keyboard.press('ArrowDown');
    await page.getByRole('region', { name: 'Details' }).getByText(whole).waitFor();
    const active = await grid.getAttribute('aria-activedescendant');
    assert.equal(await page.locator(`#${active}`).getAttribute('aria-selected'), 'true');
    assert.deepEqual(await findings(page), []);
    assertNoFaults(page);
  });

  it('Try it converts between the forms of a protocol', async (t) => {
    const page = await browser.open(t, its.parley, 'try?protocol=supervisor&example=checkpoint');
    await page.getByRole('heading', { name: /As MessagePack, \d+ bytes/ }).waitFor();
    const editor = page.getByRole('textbox', { name: 'Message' });
    const written = await editor.inputValue();
    await page.getByLabel('Written as').selectOption('MessagePack, in hex');
    await until('it is hex', async () => /^[0-9a-f ]{47}\n/.test(await editor.inputValue()));
    await page.getByRole('heading', { name: 'As JSON' }).waitFor();
    await page.getByText('Valid', { exact: true }).waitFor();
    await editor.fill(`c1 ${await editor.inputValue()}`);
    await page.getByText('Not valid', { exact: true }).waitFor();
    await editor.fill((await editor.inputValue()).slice(3));
    await page.getByText('Valid', { exact: true }).waitFor();
    await page.getByLabel('Written as').selectOption('JSON');
    await until('it is as before', async () => (await editor.inputValue()) === written);
    await page.goto(`${its.parley.url}/#try?protocol=brenner&example=delta`);
    await until('the example is there', async () => (await editor.inputValue()).includes('DELTA['));
    await page.getByLabel('Written as').selectOption('Markdown');
    await until('it is Markdown', async () => (await editor.inputValue()).startsWith('---'));
    await page.getByLabel('Written as').selectOption('JSON');
    await until('it is JSON', async () => (await editor.inputValue()).startsWith('{'));
    assertNoFaults(page);
  });

  it('Try it sends an example twice, with another id and time', async (t) => {
    const page = await browser.open(t, its.parley, 'try?protocol=vlp&example=evidence');
    await page.getByText('Valid', { exact: true }).waitFor();
    const editor = page.getByRole('textbox', { name: 'Message' });
    const before = JSON.parse(await editor.inputValue());
    const ids = new Set([before.id]);
    for (let i = 0; i < 2; i++) {
      await page.getByRole('button', { name: 'New id and time' }).click();
      const { id, timestamp, ...rest } = JSON.parse(await editor.inputValue());
      ids.add(id);
      assert.deepEqual({ ...rest, id: before.id, timestamp: before.timestamp }, before);
      assert.ok(timestamp > before.timestamp);
      await page.getByRole('button', { name: 'Send it' }).click();
      await page.locator('.success', { hasText: `"id": "${id}"` }).waitFor();
    }
    assert.equal(ids.size, 3);
    assert.equal(await page.getByText('where it was already').count(), 0);
    assertNoFaults(page);
  });

  it('on a phone opens details over what is seen', async (t) => {
    const { task } = await filledOnce();
    const page = await browser.open(t, its.parley, 'live?since=all', { width: 390, height: 844 });
    const assertSeen = async (name) => {
      const details = page.getByRole('region', { name, exact: true });
      const { y, height } = await details.boundingBox();
      assert.ok(y > 0 && y + height <= 845, `${name} is at ${y}, ${height} high`);
      await details.getByRole('button', { name: 'Close' }).click();
      await details.waitFor({ state: 'detached' });
    };
    await page.getByRole('row').nth(1).click();
    await assertSeen('Details');
    await page.goto(`${its.parley.url}/#work?shown=${task.id}`);
    await assertSeen('Task');
    await page.getByRole('button', { name: 'galahad' }).click();
    await assertSeen('Agent');
    assertNoFaults(page);
  });

  it('Rules are searched, and show what fails and what passes', async (t) => {
    const page = await browser.open(t, its.parley, 'rules');
    await page.getByLabel('Search').fill('earned confidence');
    await page.getByText('VLP-012').click();
    await page.getByRole('heading', { name: 'Fails' }).waitFor();
    await page.getByRole('heading', { name: 'Passes' }).waitFor();
    assertNoFaults(page);
  });

  it('Overview leads from a rule, and from halts, to what they refused and why', async (t) => {
    const { halted } = await filledOnce();
    const lost = safe(halted);
    await assertHalted(its.parley, lost);
    const page = await browser.open(t, its.parley, 'overview');
    await page.getByRole('link', { name: 'VLP-005' }).click();
    await page.getByRole('heading', { name: 'Decide', level: 1 }).waitFor();
    await page.getByText(/^1 of the last \d+$/).waitFor();
    await page.goBack();
    await page.getByRole('link', { name: 'halted' }).click();
    await page.getByLabel('Rule, sender or text').fill(lost.id);
    await page.getByText(/^1 of the last \d+$/).waitFor();
    await page.locator('details', { hasText: 'halted' }).locator('summary').click();
    await page.getByText('has halted this conversation').waitFor();
    await page.getByText(`"${lost.id}"`).waitFor();
    assertNoFaults(page);
  });

  it('Work cancels one task, and tries several again at once', async (t) => {
    const tasks = [taskRequest('console.one'), taskRequest('console.two'), taskRequest('console.three')];
    for (const task of tasks) assertAccepted(await sendTask(its.parley, task));
    const page = await browser.open(t, its.parley, 'work?domain=console');
    await page.getByRole('button', { name: 'console.one' }).click();
    await page.getByRole('region', { name: 'Task', exact: true }).getByRole('button', { name: 'Cancel' }).click();
    await answerDialog(page, { Reason: 'not needed' }, 'Cancel 1');
    await rowOf(page, /console.one failed/).waitFor();
    for (const task of tasks.slice(1)) assertAccepted(await sendTask(its.parley, taskFailed(task.id, { from: task.from })));
    await rowOf(page, /console.three failed/).waitFor();
    await rowOf(page, /console.two failed/).waitFor();
    await page.getByLabel('Choose all').check();
    await page.getByRole('button', { name: 'Try again 3' }).click();
    await answerDialog(page, {}, 'Try again 3');
    await page.getByText('3 done, 0 failed').waitFor();
    await until('there are three new ones', async () => (await page.getByText('requested', { exact: true }).count()) >= 3);
    assertNoFaults(page);
  });

  it('Work shows what a lost agent holds, and that the holder of a task is lost', async (t) => {
    const [agent, task] = ['bors', taskRequest('lost.case')];
    assertAccepted(await sendTask(its.parley, heartbeat(agent)));
    assertAccepted(await sendTask(its.parley, task));
    assert.equal((await nextTask(its.parley, agent, { domains: ['lost'] })).status, 200);
    const context = await browser.context(t);
    await context.route('**/v1/roundtable/agents?*', async (route) => { // an agent is lost after three minutes
      if (route.request().url().includes('follow=true')) return route.fulfill({ status: 400 });
      const response = await route.fetch();
      const json = await response.json();
      for (const one of json.items) if (one.agent === agent) one.state = 'lost';
      return route.fulfill({ response, json });
    });
    const page = await openPage(context, its.parley, 'work');
    await rowOf(page, /lost.case claimed bors lost/).waitFor();
    await rowOf(page, /^bors lost .* 1: lost.case/).getByRole('link', { name: '1: lost.case' }).click();
    await page.getByText('1 tasks, 0 chosen').waitFor();
    assertNoFaults(page);
  });

  it('Decide releases a halt, approves a review, and checks a refusal again', async (t) => {
    const { halted } = await filledOnce();
    const page = await browser.open(t, its.parley, 'decide');
    await page.getByRole('listitem').filter({ hasText: `Session ${halted}` }).getByRole('button', { name: 'Release' }).click();
    await answerDialog(page, { Reason: 'looked at it', 'Your name': 'Grace' }, 'Release');
    await page.getByText(`Session ${halted}`).waitFor({ state: 'detached' });
    assert.deepEqual((await halts(its.parley, `?session=${halted}`)).items, []);
    const waiting = page.getByRole('listitem').filter({ hasText: '"Ada"' });
    await waiting.getByRole('button', { name: 'Approve' }).click();
    await answerDialog(page, { 'Your name': 'Grace', Reason: 'The sources hold.' }, 'Approve');
    await waiting.waitFor({ state: 'detached' });
    await page.getByText('Decided lately').click();
    await rowOf(page, `Released Session ${halted} Grace looked at it`).waitFor();
    await rowOf(page, /Approved Ada: .* Grace The sources hold\./).waitFor();
    assert.deepEqual(await findings(page), []);
    await page.locator('summary', { hasText: 'VLP-005' }).first().click();
    await page.getByRole('button', { name: 'Check again' }).click();
    await page.getByText('It is still not valid').waitFor();
    assertNoFaults(page);
  });

  it('shortens what is long until all of it is asked for, whether it could be read or not', async (t) => {
    const long = 'long '.repeat(20_000), thread = session();
    assertAccepted(await send(its.parley, { ...safe(thread), content: long }));
    await post(its.parley, '/v1/vlp/messages', `{"content":"${long}`);
    for (const [address, open] of [
      [`live?since=all&thread=${thread}`, (page) => page.getByRole('row').nth(1).click()],
      ['decide?refused=GW-001', (page) => page.locator('summary', { hasText: 'GW-001' }).click()],
    ]) {
      const page = await browser.open(t, its.parley, address);
      await open(page);
      const body = page.locator('main pre').last();
      assert.ok((await body.textContent()).length <= 64 * 1024 + 1, address);
      await page.getByRole('button', { name: 'Show all' }).click();
      await until('all of it is shown', async () => (await body.textContent()).length >= long.length);
      assertNoFaults(page);
    }
  });

  it('Live keeps as many messages as 16 MiB hold, and says how many there were', async (t) => {
    const thread = session(), content = 'x'.repeat(900_000), count = 24;
    for (let i = 0; i < count; i++) assertAccepted(await send(its.parley, { ...safe(thread), content }));
    const page = await browser.open(t, its.parley, `live?protocol=vlp&since=all&thread=${thread}`);
    await page.getByText(`the newest 18 of ${count} messages`).waitFor();
    assert.equal(await page.getByRole('grid').getAttribute('aria-rowcount'), '19');
    assertNoFaults(page);
  });

  it('Stories shows what refers to what, by a text too, and leaves out none that refer to each other', async (t) => {
    const thread = session();
    const [first, second, third] = [safe(thread), safe(thread), safe(thread)];
    Object.assign(first, { refers_to: [third.id] });
    Object.assign(second, { refers_to: first.id });
    Object.assign(third, { refers_to: [second.id] });
    for (const message of [first, second, third]) assertAccepted(await send(its.parley, message));
    const page = await browser.open(t, its.parley, `stories?protocol=vlp&thread=${thread}`);
    await page.getByText('3 messages of').waitFor();
    for (const [depth, { id }] of [first, second, third].entries()) {
      assert.equal(await page.locator(`${'.thread '.repeat(depth + 1)}> li > details > summary`, { hasText: id }).count(), 1, id);
    }
    assertNoFaults(page);
  });

  it('Stories shows a conversation from its beginning', async (t) => {
    const { reviewed } = await filledOnce();
    const page = await browser.open(t, its.parley, 'stories?protocol=vlp');
    await page.getByLabel('Session, task or thread').fill(reviewed);
    await page.getByText('vlp.claim').waitFor();
    assertNoFaults(page);
  });
});

describe('Stories, with an index', { ...inBrowser }, () => {
  const its = useParley({ args: ['--index', 'on'] });
  const browser = useBrowser();

  it('lists conversations, and shows what was put together from one', async (t) => {
    const { json: examples } = await get(its.parley, '/v1/protocols/brenner/examples');
    for (const { message } of examples) await post(its.parley, '/v1/brenner/messages', JSON.stringify(message));
    const { thread_id: thread } = examples.find(({ name }) => name === 'delta').message;
    await until('the index has it', async () => (await get(its.parley, `/v1/brenner/threads?thread=${thread}`)).json.items?.length === 1);
    const page = await browser.open(t, its.parley, 'stories?protocol=brenner');
    await page.getByRole('button', { name: thread }).click();
    await page.getByText('brenner.delta').waitFor();
    const artifact = page.getByRole('region', { name: 'Artifact' });
    await artifact.getByRole('heading', { name: 'H1: Epigenetic memory' }).waitFor();
    await artifact.getByText('Claim: Cells inherit the state of their chromatin').waitFor();
    assert.deepEqual(await findings(page), []);
    assertNoFaults(page);
  });

  it('show the ledger of a claim as a tree', async (t) => {
    const said = (type, sender, refers_to) => claim({ type, sender, ...(refers_to && { refers_to: [refers_to] }), session_id: thread, provenance: ['it'] });
    const thread = session();
    const first = said('claim', 'Ann');
    const support = said('evidence', 'Bob', first.id);
    const correction = said('correction', 'Ann', first.id);
    for (const message of [first, support, correction]) assertAccepted(await send(its.parley, message));
    await until('the index has them', async () => (await get(its.parley, `/v1/vlp/chain?id=${first.id}`)).json.items?.length === 3);
    const page = await browser.open(t, its.parley, `stories?id=${first.id}`);
    const ledger = page.getByRole('region', { name: 'Ledger' });
    const root = ledger.getByRole('listitem').filter({ hasText: first.id }).first();
    await root.getByText('superseded').waitFor();
    await root.getByRole('listitem').filter({ hasText: support.id }).getByText('stale').waitFor();
    await root.getByRole('listitem').filter({ hasText: correction.id }).getByText('authoritative').waitFor();
    assert.deepEqual(await findings(page), []);
    assertNoFaults(page);
  });

  it('say what is open in a session', async (t) => {
    const thread = session();
    const [asked, claimed] = [claim({ type: 'query', sender: 'Bob', session_id: thread }), safe(thread)];
    for (const message of [asked, claimed, claim({ type: 'evidence', session_id: thread, provenance: ['it'], refers_to: claimed.id })]) {
      assertAccepted(await send(its.parley, message));
    }
    await until('the index has them', async () => (await get(its.parley, `/v1/vlp/sessions?session=${thread}`)).json.items?.[0]?.count === 3);
    const page = await browser.open(t, its.parley, `stories?protocol=vlp&thread=${thread}`);
    const open = page.getByRole('region', { name: 'Session' });
    await open.getByText('1 evidence').waitFor();
    const items = open.getByRole('listitem');
    await items.filter({ hasText: 'waits for an answer' }).filter({ hasText: asked.id }).waitFor();
    assert.equal(await items.count(), 1);
    assert.deepEqual(await findings(page), []);
    assertNoFaults(page);
  });

  it('follow an id over all that it reaches', async (t) => {
    const thread = session();
    const [first, second] = [safe(thread), claim({ type: 'evidence', session_id: thread, provenance: ['it'] })];
    second.refers_to = [first.id];
    for (const message of [first, second]) assertAccepted(await send(its.parley, message));
    await until('the index has them', async () => (await get(its.parley, `/v1/trace?id=${second.id}`)).json.items?.length === 2);
    const page = await browser.open(t, its.parley, 'stories');
    await page.getByLabel('Or any id').fill(second.id);
    await page.getByText(first.id).waitFor();
    await page.getByText('2 messages of').waitFor();
    await page.getByRole('link', { name: thread }).first().click();
    await page.getByText('Follow it live').waitFor();
    assertNoFaults(page);
  });
});

describe('what strangers write', { ...inBrowser }, () => {
  const its = useParley({ args: ['--quarantine'] });
  const browser = useBrowser();

  it('is text on every page, never markup', async (t) => {
    assertAccepted(await send(its.parley, { ...review(SCRIPT), sender: SCRIPT, content: SCRIPT, keywords: [SCRIPT] }));
    assertAccepted(await send(its.parley, { ...block(SCRIPT), sender: SCRIPT, content: SCRIPT }));
    await send(its.parley, brokenClaim({ content: SCRIPT, [SCRIPT]: 1 }));
    await post(its.parley, '/v1/vlp/messages', JSON.stringify({ type: SCRIPT }));
    const task = taskRequest('x.y', { from: 'tim' });
    assertAccepted(await sendTask(its.parley, { ...task, payload: { ...task.payload, description: SCRIPT } }));
    const addresses = ['live?since=all', 'decide', 'work', 'overview', `stories?protocol=vlp&thread=${encodeURIComponent(SCRIPT)}`,
      `live?thread=${encodeURIComponent(SCRIPT)}`, `rules?text=${encodeURIComponent(SCRIPT)}`, encodeURIComponent(SCRIPT)];
    for (const address of addresses) {
      const page = await browser.open(t, its.parley, address);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await page.waitForLoadState('networkidle', { timeout: 3000 }).catch(() => {});
      if (address.startsWith('live?since')) await page.getByRole('row').nth(1).click();
      const { isAttacked, pictures } = await page.evaluate(() => ({
        isAttacked: globalThis.isAttacked, pictures: document.querySelectorAll('main script, main img').length,
      }));
      assert.deepEqual([isAttacked, pictures], [undefined, 0], address);
      assertNoFaults(page);
    }
    const page = await browser.open(t, its.parley, 'decide');
    await page.getByText(SCRIPT, { exact: false }).first().waitFor();
  });
});

describe('a connection', { ...inBrowser }, () => {
  const browser = useBrowser();

  it('that is lost and found loses and doubles no message', async (t) => {
    const nats = await startNats();
    atEnd(t, () => nats.stop());
    const other = await parleyFor(t, { nats: nats.url });
    let shown = await parleyFor(t, { nats: nats.url });
    const thread = session();
    const sent = Array.from({ length: 30 }, () => safe(thread));
    const page = await browser.open(t, shown, `live?protocol=vlp&thread=${thread}&since=all`);
    for (const message of sent.slice(0, 10)) assertAccepted(await send(other, message));
    await rowOf(page, sent[9].id).waitFor();
    const { port } = shown;
    await shown.stop();
    await page.getByText('The connection is lost').waitFor();
    for (const message of sent.slice(10, 20)) assertAccepted(await send(other, message));
    shown = await parleyFor(t, { nats: nats.url, listen: `127.0.0.1:${port}` });
    await rowOf(page, sent[19].id).waitFor();
    // A hidden tab closes its stream, and goes on from its token.
    await setHidden(page, true);
    await page.getByText('Closed while the tab is hidden').waitFor();
    for (const message of sent.slice(20)) assertAccepted(await send(other, message));
    await setHidden(page, false);
    await rowOf(page, sent[29].id).waitFor();
    const own = await rowOf(page, 'parley end').count(); // the first gateway told that it ended
    assert.equal(await page.getByRole('grid').getAttribute('aria-rowcount'), String(1 + sent.length + own));
    for (const { id } of sent) assert.ok((await rowOf(page, new RegExp(`"${id}"`)).count()) <= 1, id);
  });

  it('of two tabs shows the same in both', async (t) => {
    const server = await parleyFor(t);
    const context = await browser.context(t);
    const pages = [await openPage(context, server, 'live?since=all'), await openPage(context, server, 'live?since=all')];
    const sent = claim();
    assertAccepted(await send(server, sent));
    for (const page of pages) await rowOf(page, sent.id).waitFor();
  });

  it('asks for a token, keeps it out of addresses, and asks again when it is forgotten', async (t) => {
    const file = join(temporaryFolder(), 'tokens.json');
    const token = await createToken(file, 'ada', 'send:*,read:*,metrics');
    const server = await parleyFor(t, { args: ['--tokens', file] });
    const page = await browser.open(t, server, 'live?since=all');
    const asked = [];
    page.on('request', (request) => asked.push(request.url()));
    await answerDialog(page, { Token: 'parley_wrong' }, 'Use it');
    await page.getByRole('dialog').waitFor();
    await answerDialog(page, { Token: token }, 'Use it');
    await page.reload();
    await page.getByText('Live ·').waitFor();
    assert.ok(asked.every((url) => !url.includes(token)));
    await page.goto(`${server.url}/#decide`);
    await page.getByRole('heading', { name: 'Halted conversations' }).waitFor();
    assert.equal(await page.getByRole('heading', { name: 'Refused messages' }).count(), 0, 'it needs the scope admin');
    await page.getByRole('button', { name: 'Forget the token' }).click();
    await page.getByRole('dialog').waitFor();
    assert.equal(await page.evaluate(() => JSON.stringify(sessionStorage)).then((text) => text.includes(token)), false);
  });
});

describe('a token', { ...inBrowser }, () => {
  const browser = useBrowser();
  const has = async (locator) => (await locator.count()) > 0;

  it('that expires while Live reads is asked for again, and Live has what came meanwhile', async (t) => {
    const file = join(temporaryFolder(), 'tokens.json');
    const [short, long] = [await createToken(file, 'ada', 'read:*', '--expires', '12s'), await createToken(file, 'bob', 'read:*,send:*')];
    const server = await parleyFor(t, { args: ['--tokens', file] });
    const page = await browser.open(t, server, 'live');
    await answerDialog(page, { Token: short }, 'Use it');
    await page.getByText('Live ·').waitFor();
    const sent = [claim(), claim()];
    assertAccepted(await send(server, sent[0], bearer(long)));
    await rowOf(page, sent[0].id).waitFor();
    await page.getByRole('dialog').getByText('expired').waitFor();
    assertAccepted(await send(server, sent[1], bearer(long)));
    await answerDialog(page, { Token: long }, 'Use it');
    for (const { id } of sent) await rowOf(page, id).waitFor();
    assertNoFaults(page);
  });

  // What it is offered: pages, the protocols of Try it, and actions.
  for (const [scopes, offers] of [
    ['read:vlp', { Live: true, 'Try it': false, Decide: true, Release: false, Approve: false, 'Refused messages': false }],
    ['review', { Live: false, 'Try it': false, Decide: true, Release: false, Approve: true, 'Refused messages': false }],
    ['send:roundtable,admin', { Live: false, 'Try it': true, Decide: true, Approve: true, 'Refused messages': true }],
    ['read:*,admin', { Live: true, 'Try it': false, Decide: true, Release: true, Approve: true, 'Refused messages': true }],
  ]) {
    it(`that allows ${scopes} is offered nothing else`, async (t) => {
      const file = join(temporaryFolder(), 'tokens.json');
      const sender = bearer(await createToken(file, 'sender', 'send:*'));
      const token = await createToken(file, 'ada', scopes);
      const server = await parleyFor(t, { args: ['--quarantine', '--tokens', file] });
      assertAccepted(await send(server, block(session()), sender));
      assertAccepted(await send(server, review(session()), sender));
      const page = await browser.open(t, server, 'decide');
      await answerDialog(page, { Token: token }, 'Use it');
      await page.getByRole('heading', { name: /^(Halted conversations|Messages that wait for a review)$/ }).first().waitFor();
      const wanted = { Release: false, ...offers };
      const places = {
        Live: page.getByRole('link', { name: 'Live', exact: true }),
        'Try it': page.getByRole('link', { name: 'Try it', exact: true }),
        Decide: page.getByRole('link', { name: 'Decide', exact: true }),
        Release: page.getByRole('button', { name: 'Release' }),
        Approve: page.getByRole('button', { name: 'Approve' }),
        'Refused messages': page.getByRole('heading', { name: 'Refused messages' }),
      };
      // Each list comes when its own answer does.
      await page.getByRole('listitem').first().waitFor();
      for (const [name, place] of Object.entries(places)) if (wanted[name]) await place.first().waitFor();
      const found = {};
      for (const [name, place] of Object.entries(places)) found[name] = await has(place);
      assert.deepEqual(found, wanted);
      assertNoFaults(page);
    });
  }

  it('that does not allow a page is told so there', async (t) => {
    const file = join(temporaryFolder(), 'tokens.json');
    const token = await createToken(file, 'ada', 'read:vlp');
    const page = await browser.open(t, await parleyFor(t, { args: ['--tokens', file] }), 'live');
    await answerDialog(page, { Token: token }, 'Use it');
    await page.getByText('Live ·').waitFor();
    await page.evaluate(() => (location.hash = 'try'));
    await page.getByText('This page needs the scope send').waitFor();
    assertNoFaults(page);
  });
});

describe(`${A_SECOND} messages a second for ${SECONDS} s`, { ...inBrowser }, () => {
  const its = useParley();
  const browser = useBrowser();

  it('leave the heap as it is, and clicks are answered', async (t) => {
    const page = await browser.open(t, its.parley, 'live?since=now');
    await page.getByText('Live ·').waitFor();
    const session = await page.context().newCDPSession(page);
    const heap = async () => {
      await session.send('HeapProfiler.collectGarbage');
      return (await session.send('Runtime.getHeapUsage')).usedSize;
    };
    const pour = async (seconds) => {
      const end = Date.now() + seconds * 1000;
      let count = 0;
      while (Date.now() < end) {
        const next = Date.now() + 1000;
        const { lines: results } = await sendLines(its.parley, lines(claims(A_SECOND)), { headers: { Accept: 'application/x-ndjson' } });
        assert.equal(results.at(-1).summary.accepted, A_SECOND);
        count += A_SECOND;
        await new Promise((resolve) => setTimeout(resolve, Math.max(0, next - Date.now())));
      }
      return count;
    };
    let count = await pour(2);
    const before = await heap();
    // From the input to the frame that shows its outcome.
    await page.evaluate(() => {
      globalThis.clicks = [];
      const button = document.querySelector('[aria-pressed]');
      button.addEventListener('click', async ({ timeStamp }) => {
        const was = button.getAttribute('aria-pressed');
        while (button.getAttribute('aria-pressed') === was) await new Promise(requestAnimationFrame);
        globalThis.clicks.push(performance.now() - timeStamp);
      }, true);
    });
    const { x, y } = await page.getByRole('button', { name: 'Pause' }).boundingBox();
    let isOver = false;
    const pouring = pour(SECONDS).finally(() => (isOver = true));
    while (!isOver) {
      for (const next of ['Go on', 'Pause']) {
        await page.mouse.click(x + 5, y + 5);
        await page.getByRole('button', { name: next, exact: true }).waitFor();
      }
      await page.waitForTimeout(500);
    }
    count += await pouring;
    const times = (await page.evaluate(() => globalThis.clicks)).sort((one, other) => one - other);
    const slow = times[Math.floor(times.length * 0.75)]; // the machine may have other work at times
    await page.getByText(`of ${count.toLocaleString('en-US')} messages`).waitFor();
    const growth = (await heap()) - before;
    t.diagnostic(`${count} messages; heap ${before} bytes, ${growth} more after them; ${times.length} clicks, one in four above ${Math.round(slow)} ms, the slowest ${Math.round(times.at(-1))} ms`);
    assert.ok(growth < HEAP_BYTES, `${growth} bytes more`);
    assert.ok(slow < CLICK_MS, times.join(' '));
    assertNoFaults(page);
  });
});
