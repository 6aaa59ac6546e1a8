// The page on which a person says yes to what their CLI wants, at the widths and in the schemes that
// people have. CL-01, CR-01, AC-09 in the browser.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Kndl } from '../harness/kndl.mjs';
import { DESKTOP, launch, Page, PHONE } from './browser.mjs';

let kndl;
let browser;

before(async () => {
  kndl = await Kndl.start('web-confirmations');
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await kndl?.stop();
});

async function open(viewport, colorScheme, login = 'ada') {
  const page = await Page.open(browser, kndl, { viewport, colorScheme });
  await page.signIn(login);
  return page;
}

const LOOKS = [
  ['desktop-light', DESKTOP, 'light', ['members'], 'see the Members and Invites'],
  ['desktop-dark', DESKTOP, 'dark', ['runners', 'add', 'a box'], 'administer Runners'],
  ['phone-light', PHONE, 'light', ['invite', 'linus'], 'invite or remove Members'],
  ['phone-dark', PHONE, 'dark', ['token', 'remove'], 'replace or remove your setup token'],
];

for (const [name, viewport, scheme, words, what] of LOOKS) {
  test(`CL-01: kndl ${words.join(' ')} goes on after a yes, ${name}`, async () => {
    const page = await open(viewport, scheme);
    const done = await kndl.confirmedCli(words, async (code) => {
      await page.page.goto(`/device#${code}`);
      await page.page.getByLabel('Code').getByText(code).waitFor();
      await page.page.getByText(`wants to ${what}`).waitFor();
      await page.check();
      await page.screenshot(`confirm-${name}`);
      await page.page.getByRole('button', { name: 'Yes, let it' }).click();
      await page.page.getByText(/^kndl on .* goes on\.$/).waitFor();
      await page.screenshot(`confirmed-${name}`);
    });
    assert.equal(done.code, 0, done.stderr);
    await page.close();
  });
}

test('AC-09: a no is a no, and another Member sees nothing to say yes to', async () => {
  const other = await open(DESKTOP, 'light', 'grace');
  const page = await open(PHONE, 'light');
  other.expected.push(/status of 404/);
  const done = await kndl.confirmedCli(['invite', 'linus'], async (code) => {
    await other.page.goto(`/device#${code}`);
    await other.page.getByText(/No machine waits with this code/i).waitFor();
    assert.equal(await other.page.getByRole('button', { name: 'Yes, let it' }).count(), 0);
    await page.page.goto(`/device#${code}`);
    await page.page.getByRole('button', { name: 'No', exact: true }).click();
    await page.page.getByText('It was refused.').waitFor();
  });
  assert.equal(done.code, 3);
  // What was confirmed is nobody's sign-in: only the machine is listed.
  await page.page.goto('/sign-ins');
  await page.page.getByText('this one').waitFor();
  assert.equal(await page.page.getByText(/^kndl on /).count(), 1);
  await other.close();
  await page.close();
});
