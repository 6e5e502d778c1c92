// SPDX-License-Identifier: Apache-2.0
// Makes docs/images/console-PAGE.png and …-narrow.png: the console with some messages of each protocol.
//   node tests/e2e/console_images.mjs

import { mkdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { openPage, PAGES, TITLES } from './lib/console.mjs';
import { block, review, safe } from './lib/halts.mjs';
import { get, post, request, send } from './lib/http.mjs';
import { startParley } from './lib/parley.mjs';
import { heartbeat, sendTask, taskRequest } from './lib/roundtable.mjs';
import { brokenClaim } from './lib/vlp.mjs';
import { changeTask, nextTask } from './lib/work.mjs';

const FOLDER = resolve(dirname(fileURLToPath(import.meta.url)), '../../docs/images');
const SIZES = { '': { width: 1200, height: 750 }, '-narrow': { width: 390, height: 844 } };
const ADDRESSES = {
  live: 'live?since=all', try: 'try?protocol=vlp', overview: 'overview', rules: 'rules?protocol=vlp', work: 'work',
  decide: 'decide', stories: 'stories?protocol=brenner&thread=RS-20251230-cell-fate',
};

async function fill(server) {
  for (const { name, links } of (await get(server, '/v1/protocols')).json) {
    for (const { message } of (await get(server, links.examples)).json) {
      await post(server, `${links.messages}?stamp=true&agent=scribe`, JSON.stringify(message));
    }
    if (name === 'roundtable') {
      for (const task of ['security.scan', 'intel.weather', 'research.summary']) await sendTask(server, taskRequest(task));
      await sendTask(server, heartbeat('galahad'));
      const { json } = await nextTask(server, 'galahad');
      await changeTask(server, json.task.id, 'extend', { agent: 'galahad' });
    }
  }
  for (const halted of ['S-6', 'S-7']) await send(server, { ...block(halted), sender: 'Guard' });
  await send(server, { ...safe('S-7'), sender: 'Ada' }); // is refused
  await request(server, 'DELETE', '/v1/vlp/halts?session=S-6&reason=It%20was%20a%20test.&released_by=Grace');
  await send(server, { ...review('S-8'), sender: 'Ada', content: 'Three sources agree; please look at the third.' });
  await send(server, brokenClaim());
}

// So that the chart has something to show.
async function pour(server, ms) {
  for (const end = Date.now() + ms; Date.now() < end;) {
    for (let i = Math.floor(Math.random() * 40); i > 0; i--) await send(server, safe('S-9'));
    if (Math.random() < 0.3) await send(server, brokenClaim());
  }
}

const IS_WIDE_ALONE = { live: true, work: true }; // on a phone details would hide the list
const SHOWN = {
  async live(page) {
    await page.getByRole('row', { name: /claim Ada/ }).click();
  },
  async try(page) {
    await page.getByText('Valid', { exact: true }).waitFor();
    await page.getByRole('textbox', { name: 'Message' }).fill('{\n  "type": "claim",\n  "sendr": "Ada",\n  "content": "All five are open.",\n  "confidence": "0.8"\n}');
    await page.getByText('Not valid').waitFor();
  },
  async rules(page) {
    await page.getByText('VLP-012').click();
    await page.getByRole('heading', { name: 'Passes' }).waitFor();
  },
  async overview(page) {
    await page.locator('.u-wrap').waitFor();
  },
  async work(page) {
    await page.getByRole('button', { name: 'security.briefing' }).first().click();
  },
  async decide(page) {
    await page.getByText('Decided lately').click();
    await page.getByRole('cell', { name: 'It was a test.' }).waitFor();
    await page.evaluate(() => scrollTo(0, 0));
  },
  async stories(page) {
    await page.getByText('brenner.kickoff').click();
  },
};

const server = await startParley({ args: ['--quarantine', '--task-lease', '15m'] });
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'] });
await mkdir(FOLDER, { recursive: true });
await fill(server);
// Overview last, since the other pages would show what was poured.
for (const name of [...PAGES.filter((one) => one !== 'overview'), 'overview']) {
  for (const [suffix, viewport] of Object.entries(SIZES)) {
    const page = await openPage(await browser.newContext({ viewport }), server, ADDRESSES[name]);
    await page.getByRole('heading', { name: TITLES[name], level: 1 }).waitFor();
    if (name === 'overview') await pour(server, 15_000);
    await page.waitForTimeout(1000);
    if (!suffix || !IS_WIDE_ALONE[name]) await SHOWN[name]?.(page);
    else await page.locator('.status, .actions').first().evaluate((element) => scrollTo(0, element.offsetTop - 130));
    await page.waitForTimeout(500);
    await page.screenshot({ path: join(FOLDER, `console-${name}${suffix}.png`) });
    await page.context().close();
  }
}
await browser.close();
await server.stop();
