// Debian's Chromium, driven by playwright-core: pages that fail a test for any console error, any
// exception and any violation of the CSP.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

import axe from 'axe-core';
import { chromium } from 'playwright-core';

// Without these Chromium calls home at each start.
const ARGS = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync',
];

export const DESKTOP = { width: 1280, height: 800 };
export const PHONE = { width: 390, height: 844 };
const TOUCH_PX = 44;
const WCAG = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];

export async function launch() {
  return chromium.launch({ executablePath: '/usr/bin/chromium', args: ARGS });
}

export class Page {
  // A page in a browser profile of its own.
  static async open(browser, kndl, { viewport = DESKTOP, colorScheme = 'light' } = {}) {
    const self = new Page();
    self.kndl = kndl;
    self.viewport = viewport;
    self.complaints = [];
    self.context = await browser.newContext({
      viewport,
      colorScheme,
      hasTouch: viewport === PHONE,
      baseURL: kndl.facts.hub_url,
    });
    self.page = await self.context.newPage();
    self.page.on('console', (message) => {
      if (message.type() === 'error' && !self.isExpected(message.text()))
        self.complaints.push(`console: ${message.text()}`);
    });
    self.page.on('pageerror', (error) => self.complaints.push(`exception: ${error.message}`));
    await self.page.addInitScript(() => {
      addEventListener('securitypolicyviolation', (event) =>
        console.error(`securitypolicyviolation ${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
    });
    self.expected = [];
    return self;
  }

  // What the browser itself logs when the test makes the Hub refuse or go away.
  isExpected(text) {
    return this.expected.some((pattern) => pattern.test(text));
  }

  async signIn(login) {
    this.expected.push(/status of 401/); // who is not signed in yet asks who they are
    await this.page.goto('/');
    await this.page.getByLabel('GitHub login').fill(login);
    await this.page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await this.page.getByRole('link', { name: 'New Session' }).first().waitFor();
    this.expected.pop();
  }

  async screenshot(name) {
    const folder = path.join(this.kndl.dir, 'screenshots');
    fs.mkdirSync(folder, { recursive: true });
    await this.page.screenshot({ path: path.join(folder, `${name}.png`) });
  }

  // As anybody can use it: WCAG 2.2 AA, as far as axe can tell (names, roles, contrast), and the layout.
  async check() {
    await this.page.evaluate(axe.source);
    const wrong = await this.page.evaluate(async (tags) => {
      // A colour on its way to another one is nobody's to read.
      for (const animation of document.getAnimations())
        if (animation.effect.getComputedTiming().endTime !== Infinity) animation.finish();
      const { violations } = await globalThis.axe.run({ runOnly: tags });
      return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 160)}`));
    }, WCAG);
    assert.deepEqual(wrong, []);
    await this.checkLayout();
  }

  // Nothing scrolls but what is inside of the page, and on a phone everything to press is large enough.
  async checkLayout() {
    const { width, height, sideways, small } = await this.page.evaluate((least) => {
      const isSmall = (element) => {
        const box = element.getBoundingClientRect();
        const isShown = box.width > 1 && box.height > 1 && element.checkVisibility();
        const isInText = element.closest('.prose-claude, p') !== null;
        return isShown && !isInText && (box.height < least - 0.5 || box.width < least - 0.5);
      };
      // Code scrolls sideways, and what one writes into; nothing else.
      const isWide = (element) => {
        const scrolls = ['auto', 'scroll'].includes(getComputedStyle(element).overflowX);
        return scrolls && element.scrollWidth > element.clientWidth + 1 && element.matches(':not(pre, table, textarea, input)');
      };
      const targets = [...document.querySelectorAll('button, a, input, select, summary, textarea')];
      return {
        width: document.documentElement.scrollWidth,
        height: document.documentElement.scrollHeight,
        sideways: [...document.querySelectorAll('body *')].filter(isWide).map((element) => element.outerHTML.slice(0, 160)),
        small: targets.filter(isSmall).map((element) => element.outerHTML.slice(0, 160)),
      };
    }, TOUCH_PX);
    assert.ok(width <= this.viewport.width, `the page is ${width} px wide`);
    assert.ok(height <= this.viewport.height, `the page is ${height} px high, around what scrolls in it`);
    assert.deepEqual(sideways, [], 'it scrolls sideways');
    if (this.viewport === PHONE) assert.deepEqual(small, [], `targets under ${TOUCH_PX} px`);
  }

  async close() {
    await this.context.close();
    assert.deepEqual(this.complaints, []);
  }
}
