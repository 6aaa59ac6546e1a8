// The main job in a real browser, at desktop and at phone width: create, prompt, see it stream,
// answer, stop, reload and lose nothing. EV-01, EV-03, EV-04, EV-07, AC-08 in the browser.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';

import { Kndl } from '../harness/kndl.mjs';
import { until } from '../harness/until.mjs';
import { DESKTOP, launch, Page, PHONE } from './browser.mjs';

const STREAMED = {
  name: 'held answer',
  match: '\\bheld answer\\b',
  steps: [{
    piece: 8,
    gap_ms: 5,
    blocks: [
      { type: 'text', text: 'The first half is **here** already.' },
      { type: 'text', text: 'The second half came when it was let go.', hold: true },
    ],
  }],
};
const MINUTE_MS = 60 * 1000;

let kndl;
let browser;

before(async () => {
  kndl = await Kndl.start('web-session');
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await kndl?.stop();
});

async function startSession(page, prompt) {
  await page.goto('/new');
  await page.getByLabel('Repo').selectOption('demo/hello');
  await page.getByLabel('What should Claude do?').fill(prompt);
  await page.getByRole('button', { name: 'Start' }).click();
  await page.waitForURL(/\/sessions\//);
}

const log = (page) => page.getByRole('log', { name: 'Transcript' });

async function send(page, text) {
  await page.getByLabel('Prompt', { exact: true }).fill(text);
  await page.getByRole('button', { name: /^(Send|Queue)$/ }).click();
}

// The whole transcript, as a person reads it: from its top, a screen at a time, since what is out of
// sight is not in the page. Each item's text once.
async function readTranscript(page) {
  return log(page).evaluate(async (scroller) => {
    const items = new Map();
    const frames = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    // By hand, or an Event that comes meanwhile takes the page to the end.
    const scrollTo = async (top) => {
      scroller.dispatchEvent(new WheelEvent('wheel', { bubbles: true, deltaY: -1 }));
      scroller.scrollTop = top;
      await frames();
      return Math.abs(scroller.scrollTop - Math.min(top, scroller.scrollHeight - scroller.clientHeight)) <= 1;
    };
    for (let top = 0; ; top += scroller.clientHeight / 2) {
      for (let tries = 0; tries < 20 && !(await scrollTo(top)); tries++);
      for (const item of scroller.firstElementChild.children)
        items.set(item.offsetTop || parseInt(item.style.top, 10) || 0, item.innerText.trim());
      if (top + scroller.clientHeight >= scroller.scrollHeight) break;
    }
    scroller.scrollTop = scroller.scrollHeight;
    return [...items].sort(([a], [b]) => a - b).map(([, text]) => text);
  });
}

// The same, once the last Turn has ended and the page shows it.
function readAnswered(page) {
  return until('the transcript ends with its Turn', async () => {
    const items = await readTranscript(page);
    return /Worked for/.test(items.at(-1)) && items;
  });
}

const sizes = [
  { name: 'desktop, light', viewport: DESKTOP, colorScheme: 'light' },
  { name: 'phone, dark', viewport: PHONE, colorScheme: 'dark' },
];

for (const { name, viewport, colorScheme } of sizes) {
  describe(name, () => {
    let tab;
    const shot = (what) => tab.screenshot(`${name.replace(/\W+/g, '-')}-${what}`);

    before(async () => {
      tab = await Page.open(browser, kndl, { viewport, colorScheme });
      await tab.signIn('ada');
    });

    // How the page looked, for whoever looks into a failure.
    afterEach((test) => shot(`last-${test.name.slice(0, 5)}`));

    after(() => tab.close());

    it('EV-01 a new Session answers while one looks on', async () => {
      kndl.anthropic.use('all');
      await startSession(tab.page, `write ${viewport.width}.txt banana`);
      await log(tab.page).getByText(`Wrote banana to ${viewport.width}.txt.`).waitFor({ timeout: 2 * MINUTE_MS });
      await log(tab.page).getByText('Bash').first().waitFor();
      await log(tab.page).getByText(/Worked for/).waitFor();
      await tab.check();
      await shot('answered');
    });

    it('EV-01 text is shown while it streams, and its end when it comes', async () => {
      kndl.anthropic.use({ rules: [STREAMED] });
      await send(tab.page, 'a held answer please');
      await log(tab.page).getByText('The first half is here already.').waitFor();
      assert.equal(await log(tab.page).getByText('The second half').count(), 0);
      await tab.page.getByRole('button', { name: 'Stop' }).waitFor();
      await tab.check();
      await shot('streaming');
      await kndl.anthropic.release();
      await log(tab.page).getByText('The second half came when it was let go.').waitFor();
    });

    it('EV-03 a question is answered by its options', async () => {
      kndl.anthropic.use('all');
      await send(tab.page, 'ask one');
      const card = tab.page.getByRole('region', { name: 'Open question' });
      await card.getByRole('button', { name: /Blue/ }).click();
      await tab.check();
      await shot('question');
      await card.getByRole('button', { name: 'Answer' }).click();
      await log(tab.page).getByText('Thank you, that is all I needed.').waitFor();
      await card.waitFor({ state: 'detached' });
    });

    it('EV-04 Stop ends the Turn and the queue waits', async () => {
      kndl.anthropic.use({ rules: [STREAMED] });
      await send(tab.page, 'a held answer again');
      await log(tab.page).getByText('The first half is here already.').nth(1).waitFor();
      await send(tab.page, 'say this waits');
      await tab.page.getByRole('region', { name: 'Queued prompts' }).getByText('say this waits').waitFor();
      await tab.page.getByRole('button', { name: 'Stop' }).click();
      await log(tab.page).getByText(/Stopped after/).waitFor();
      await tab.page.getByText('Paused: 1 waiting').waitFor();
      await shot('stopped');
      kndl.anthropic.use('all');
      await tab.page.getByRole('button', { name: 'Resume' }).click();
      await log(tab.page).getByText('this waits', { exact: true }).last().waitFor();
    });

    it('EV-07 a reload loses nothing and shows nothing twice', async () => {
      const before = await readAnswered(tab.page);
      await tab.page.reload();
      await log(tab.page).getByText('this waits', { exact: true }).last().waitFor();
      assert.deepEqual(await readAnswered(tab.page), before);
      await tab.check();
    });

    it('LI-01 sleeps and wakes by hand, saying so', async () => {
      await tab.page.getByRole('button', { name: 'Sleep' }).click();
      await tab.page.getByRole('button', { name: 'Wake' }).waitFor();
      await tab.page.getByRole('button', { name: 'Wake' }).click();
      await tab.page.getByRole('button', { name: 'Sleep' }).waitFor({ timeout: 2 * MINUTE_MS });
      await shot('awake');
    });
  });
}

describe('others', () => {
  it('what was written and not sent stays on the way to another page, and leaves with who signs out', async () => {
    const tab = await Page.open(browser, kndl, { viewport: DESKTOP });
    const box = tab.page.getByLabel('What should Claude do?');
    await tab.signIn('ada');
    await tab.page.goto('/new');
    await box.fill('for nobody else');
    await tab.page.getByRole('link', { name: 'Variables' }).click();
    await tab.page.getByRole('heading', { name: 'Variables', level: 1 }).waitFor();
    await tab.page.goto('/new');
    await until('the draft is there', async () => (await box.inputValue()) === 'for nobody else');
    tab.expected.push(/status of 401/);
    await tab.page.getByRole('button', { name: 'Sign out' }).click();
    await tab.page.getByLabel('GitHub login').waitFor();
    await tab.signIn('ada');
    await tab.page.goto('/new');
    assert.equal(await box.inputValue(), '');
    await tab.close();
  });

  it('the way to each page has words, on a phone as well, and shows where one is', async () => {
    for (const viewport of [PHONE, DESKTOP]) {
      const tab = await Page.open(browser, kndl, { viewport });
      await tab.signIn('ada');
      const pages = tab.page.getByRole('navigation', { name: 'Pages' });
      await pages.getByRole('link').first().waitFor();
      const words = (await pages.getByRole('link').allInnerTexts()).map((text) => text.trim());
      assert.deepEqual(words, ['Variables', 'Setup token', 'Runners', 'Members', 'Sign-ins']);
      await tab.page.getByRole('button', { name: 'Sign out' }).getByText('Sign out').waitFor();
      await tab.check();
      await tab.screenshot(`menu-${viewport.width}`);
      for (const name of words) {
        await tab.page.goto('/');
        await pages.getByRole('link', { name }).click();
        await tab.page.getByRole('main').getByRole('heading', { level: 1 }).waitFor();
        if (viewport === DESKTOP) await pages.locator('[aria-current=page]').getByText(name).waitFor();
        await tab.check();
      }
      await tab.page.goto('/nonsense');
      await tab.page.getByRole('heading', { name: 'There is no such page' }).waitFor();
      await tab.check();
      await tab.close();
    }
  });

  it('AC-08 a Participant watches and has nothing to drive with', async () => {
    const [{ id }] = await kndl.json('ls');
    const tab = await Page.open(browser, kndl);
    await tab.signIn('grace');
    await tab.page.goto(`/sessions/${id}`);
    await tab.page.getByText('You are watching. Only ada').waitFor();
    assert.equal(await tab.page.getByLabel('Prompt', { exact: true }).count(), 0);
    assert.equal(await tab.page.getByRole('button', { name: /Stop|Sleep|Wake|Retry/ }).count(), 0);
    await tab.close();
  });

  it('AC-06 a Session that does not exist says only that', async () => {
    const tab = await Page.open(browser, kndl);
    await tab.signIn('ada');
    await tab.page.goto('/sessions/aaaaaaaaaaaaaaaaaaaaaaaaae');
    await tab.page.getByText('This Session is not here').waitFor();
    await tab.page.getByText('It does not exist, or you have no access to its Repo.').waitFor();
    await tab.check();
    await tab.close();
  });
});
