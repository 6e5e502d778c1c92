// SPDX-License-Identifier: Apache-2.0
// The console in a real browser: Debian's Chromium, driven by playwright-core.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before } from 'node:test';
import { atEnd } from './cleanup.mjs';
import { inBrowser } from './browser.mjs';
import { DEADLINE_MS } from './poll.mjs';

export { inBrowser };

const FLAGS = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage',
];
export const PAGES = ['live', 'try', 'overview', 'rules', 'work', 'decide', 'stories'];
export const TITLES = { live: 'Live', try: 'Try it', overview: 'Overview', rules: 'Rules', work: 'Work', decide: 'Decide', stories: 'Stories' };

// One browser for the tests of a describe; its.open(t, server, 'live?since=all') is a page in a context of its own.
export function useBrowser() {
  const its = { browser: null };
  before(async () => {
    if (inBrowser.skip) return;
    const { chromium } = await import('playwright-core');
    its.browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: FLAGS });
  });
  after(() => its.browser?.close());
  its.context = async (t, { width = 1440, height = 900, scheme = 'light' } = {}) => {
    const context = await its.browser.newContext({ viewport: { width, height }, colorScheme: scheme });
    context.setDefaultTimeout(DEADLINE_MS);
    context.setDefaultNavigationTimeout(DEADLINE_MS);
    atEnd(t, () => context.close());
    return context;
  };
  its.open = async (t, server, address, options) => openPage(await its.context(t, options), server, address);
  return its;
}

// `page.faults` has what the browser complains of, but for answers that a page expects.
export async function openPage(context, server, address = '') {
  const page = await context.newPage();
  page.faults = [];
  page.on('pageerror', (error) => page.faults.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) page.faults.push(message.text());
  });
  await page.goto(`${server.url}/#${address}`);
  return page;
}

export const assertNoFaults = (page) => assert.deepEqual(page.faults, []);

// Leaves a dialog by its button, and waits until it has gone.
export async function answerDialog(page, fields, button) {
  const dialog = page.getByRole('dialog');
  for (const [label, text] of Object.entries(fields)) await dialog.getByLabel(label).fill(text);
  await dialog.getByRole('button', { name: button }).click();
  await dialog.waitFor({ state: 'detached' });
}

let axe;
// What axe-core finds of weight on this page: [{id, html}].
export async function findings(page) {
  axe ??= readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  await page.evaluate(axe);
  return page.evaluate(async () => {
    const { violations } = await globalThis.axe.run();
    return violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => ({ id, html: nodes.map(({ html }) => html.slice(0, 200)) }));
  });
}

// As if the window was behind another one, or was shown again.
export const setHidden = (page, isHidden) => page.evaluate((value) => {
  Object.defineProperty(document, 'hidden', { value, configurable: true });
  document.dispatchEvent(new Event('visibilitychange'));
}, isHidden);
