// Variables in a real browser: set, pasted, linked, removed; a Sensitive value never comes back, and
// a Session's page says what applies at its next wake. CR-06, RD-01, RD-06, RD-07, CL-03 (its part).

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Kndl, lines } from '../harness/kndl.mjs';
import { until } from '../harness/until.mjs';
import { DESKTOP, launch, Page, PHONE } from './browser.mjs';

const SETUP_TOKEN = 'sk-ant-oat01-variables-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';
const SECRET = 'canary-in-the-browser-93b1';

let kndl;
let browser;
let ada;
const answers = [];

before(async () => {
  kndl = await Kndl.start('web-variables');
  await kndl.setSetupToken(SETUP_TOKEN);
  browser = await launch();
  ada = await Page.open(browser, kndl, { viewport: DESKTOP });
  ada.page.on('response', async (response) => {
    answers.push(await response.body().catch(() => Buffer.alloc(0)));
  });
  ada.page.on('websocket', (socket) => socket.on('framereceived', ({ payload }) => answers.push(Buffer.from(payload))));
  await ada.signIn('ada');
});

after(async () => {
  await browser?.close();
  await kndl?.stop();
});

const ofRepo = () => ada.page.getByRole('region', { name: 'Variables of demo/hello' });
const row = (name) => ofRepo().getByRole('list', { name: 'Variables', exact: true }).getByRole('listitem').filter({ hasText: name });

const chooseRepo = ({ page }) => page.getByRole('combobox', { name: /^Repo/ }).selectOption({ label: 'demo/hello' });

async function set(where, name, value, isSensitive) {
  await where.getByLabel('Name').fill(name);
  await where.getByLabel('Value').fill(value);
  await where.getByLabel('Sensitive: masked').setChecked(isSensitive);
  await where.getByRole('button', { name: 'Set', exact: true }).click();
}

test('one is set, shown or not, and removed', async () => {
  await ada.page.getByRole('link', { name: 'Variables' }).click();
  await chooseRepo(ada);
  await set(ofRepo(), 'DB', 'localhost', false);
  await row('DB=localhost').waitFor();
  await set(ofRepo(), 'TOKEN', SECRET, true);
  await row('TOKEN').getByText('Sensitive').waitFor();
  assert.equal(await ofRepo().getByLabel('Value').inputValue(), '');
  await ada.page.reload(); // which keeps the Repo
  await row('TOKEN').waitFor();
  await row('DB').getByRole('button', { name: 'Remove DB' }).click();
  await row('DB').getByRole('button', { name: 'Yes, remove DB' }).click();
  await row('DB').waitFor({ state: 'detached' });
});

test('by the keyboard alone: what is typed is dots, said to be set, and changed in its place', async () => {
  const { keyboard } = ada.page;
  const form = ofRepo().getByRole('form', { name: 'Set a Variable' });
  const value = form.getByLabel('Value');
  const dots = () => value.evaluate((area) => getComputedStyle(area).webkitTextSecurity);
  await form.getByLabel('Name').focus();
  await keyboard.type('KEYED');
  await keyboard.press('Tab');
  await keyboard.type('typed-by-hand-1');
  assert.equal(await dots(), 'disc');
  await keyboard.press('Tab'); // Sensitive
  await keyboard.press('Tab'); // Show what I type
  await keyboard.press('Space');
  assert.equal(await dots(), 'none');
  await keyboard.press('Space');
  for (let i = 0; i < 3; i += 1) await keyboard.press('Tab'); // at build, the limits, Set
  await keyboard.press('Enter');
  await form.getByRole('status').getByText('KEYED is set').waitFor();
  await row('KEYED').getByRole('button', { name: 'Change KEYED' }).focus();
  await keyboard.press('Enter');
  await ada.page.locator('textarea:focus').waitFor();
  assert.equal(await form.getByLabel('Name').inputValue(), 'KEYED');
  assert.equal(await value.inputValue(), '');
  assert.equal(await form.getByLabel('Sensitive: masked').isChecked(), true);
  await keyboard.type('typed-anew-2');
  for (let i = 0; i < 5; i += 1) await keyboard.press('Tab');
  await keyboard.press('Enter');
  await form.getByRole('status').getByText('KEYED is set').waitFor();
  await ada.check();
});

test('RD-06: what cannot be masked is refused with the reason, RD-07: the limits are told', async () => {
  ada.expected.push(/status of 400/);
  await set(ofRepo(), 'SHORT', 'abc', true);
  await ofRepo().getByRole('alert').filter({ hasText: 'SHORT' }).waitFor();
  ada.expected.pop();
  await set(ofRepo(), 'WEAK', 'admin', true);
  await ofRepo().getByText('common word').waitFor();
  const form = ofRepo().getByRole('form', { name: 'Set a Variable' });
  await form.getByText(/not found where it was transformed first: base64, hashed, cut in pieces/).waitFor();
  await form.getByText('What masking finds').click();
  for (const words of [/base64, hashed/, /wraps with indentation/, /What a script writes to disk stays there/])
    await form.getByText(words).last().waitFor();
  await form.getByLabel('Sensitive: masked').setChecked(false);
  await form.getByText('What masking finds').waitFor({ state: 'detached' });
});

test('a .env file is pasted', async () => {
  await ofRepo().getByText('Paste a .env file').click();
  const form = ofRepo().getByRole('form', { name: 'Paste a .env file' });
  const area = form.getByLabel('.env', { exact: true });
  await area.fill('A=1\nB=2\nA=3\n');
  await form.getByRole('button', { name: 'Set all' }).click();
  await form.getByRole('alert').getByText('Line 3 sets A again: leave one of them out.').waitFor();
  ada.expected.push(/status of 400/);
  await area.fill('SHORT_ONE=1');
  await form.getByRole('button', { name: 'Set 1 Variable' }).click();
  await form.getByRole('alert').getByText(/SHORT_ONE is too short/).waitFor();
  ada.expected.pop();
  await area.fill('nonsense');
  await form.getByRole('button', { name: 'Set all' }).click();
  await form.getByText('Line 1 is not NAME=value.').waitFor();
  assert.equal(await form.getByRole('alert').count(), 1);
  await area.fill('\uFEFF# ours\r\nexport ONE="two words"\r\nTHREE=4 # four\r\nTOKEN=anew-and-long-enough\r\n');
  const read = form.getByRole('list', { name: 'What is read' }).getByRole('listitem');
  await read.filter({ hasText: 'THREE' }).getByText('too short to be masked').waitFor();
  await read.filter({ hasText: 'TOKEN' }).getByText('replaces the one that is there').waitFor();
  await ada.check();
  await area.fill('# ours\nexport ONE="two words"\nTHREE=4 # four\nPASTED=pasted-secret\n');
  await form.getByLabel('All of them are Sensitive').setChecked(false);
  await form.getByLabel('PASTED').setChecked(true);
  await form.getByRole('button', { name: 'Set 3 Variables' }).click();
  await form.getByRole('status').getByText('3 Variables set').waitFor();
  await row('ONE=two words').waitFor();
  await row('THREE=4').waitFor();
  await row('PASTED').getByText(/^Sensitive/).waitFor();
});

test('long names and values, and those of several lines, stay on their page', async () => {
  await set(ofRepo(), `LONG_${'X'.repeat(250)}`, 'x'.repeat(16 * 1024), false);
  await row('LONG_X').getByText(/^All of LONG_X+: 16,384 characters$/).waitFor();
  await set(ofRepo(), 'LINES', 'first\nsecond\u202e third', false);
  await row('LINES=first…').getByText(/, 2 lines$/).click();
  await row('LINES').getByText('second').waitFor();
  await ada.check();
});

test('who says No, or Escape, is back where they were', async () => {
  const remove = row('LINES').getByRole('button', { name: 'Remove LINES', exact: true });
  const { keyboard } = ada.page;
  for (const leave of ['Enter', 'Escape']) { // on No
    await remove.focus();
    await keyboard.press('Enter');
    await row('LINES').getByRole('group', { name: 'Remove LINES' }).waitFor();
    await keyboard.press(leave);
    await remove.waitFor();
    assert.equal(await remove.evaluate((button) => button === document.activeElement), true);
  }
});

test('a Shared variable is made, linked, and overridden by the Repo\'s own', async () => {
  const shared = ada.page.getByRole('region', { name: 'Shared variables' });
  await set(shared, 'ONE', 'shared', false);
  const entry = shared.getByRole('list', { name: 'Shared variables' }).getByRole('listitem')
    .filter({ has: ada.page.getByLabel('Link ONE to') });
  await entry.getByLabel('Link ONE to').selectOption('demo/hello');
  await entry.getByRole('button', { name: 'Link', exact: true }).click();
  await entry.getByRole('button', { name: 'Unlink demo/hello' }).waitFor();
  await row('ONE=shared').getByText('the Repo’s own wins').waitFor();
  await ada.check();
});

test('a Shared variable that is removed while it is changed is made anew', async () => {
  const shared = ada.page.getByRole('region', { name: 'Shared variables' });
  const entry = shared.getByRole('list', { name: 'Shared variables' }).getByRole('listitem')
    .filter({ has: ada.page.getByLabel('Link ANEW to') });
  await set(shared, 'ANEW', 'first', false);
  await entry.getByRole('button', { name: 'Change ANEW' }).click();
  await entry.getByRole('button', { name: 'Remove ANEW', exact: true }).click();
  await entry.getByRole('button', { name: 'Yes, remove ANEW' }).click();
  await entry.waitFor({ state: 'detached' });
  await set(shared, 'ANEW', 'second', false);
  await entry.getByText('ANEW=second').waitFor();
});

test('a Repo that is not there is said to be none, and nothing can be set', async () => {
  await ada.page.goto('/variables?repo=demo%2Fgone');
  await ada.page.getByRole('status').getByText('There is no Repo demo/gone that you may see').waitFor();
  assert.equal(await ada.page.getByRole('form').count(), 0);
  await ada.check();
  await chooseRepo(ada);
  await row('ONE').first().waitFor();
});

test('RD-01: stars in the page, and a change that waits for the next wake', async () => {
  const id = lines(await kndl.ok('new', 'demo/hello', '--json'))[0].id;
  await until('it is Active', async () => (await kndl.json('show', id))[0].session.state === 'STATE_ACTIVE');
  await ada.page.goto(`/sessions/${id}`);
  await kndl.ok('prompt', id, 'run: printenv TOKEN', '--wait');
  await ada.page.getByText('printenv TOKEN').first().waitFor();
  assert.match(JSON.stringify(await kndl.json('events', id)), new RegExp(`\\*{${SECRET.length}}`));
  const done = await kndl.cli(['vars', 'demo/hello', 'set', 'DB'], { input: 'elsewhere' });
  assert.equal(done.code, 0, done.stderr);
  await ada.page.reload();
  await ada.page.getByText('applies at its next wake: DB added').waitFor();
  await kndl.cli(['vars', 'demo/hello', 'import'], { input: 'NEXT_1=a\nNEXT_2=b\nNEXT_3=c\n' });
  await ada.page.reload();
  await ada.page.getByText('4 changes').click();
  await ada.page.getByText('DB added, NEXT_1 added, NEXT_2 added, NEXT_3 added.').waitFor();
  await ada.page.getByRole('link', { name: 'The Repo’s Variables' }).click();
  await row('NEXT_3').waitFor();
});

test('CR-04: a Session that a removed setup token put to sleep says so, and where to mend it', async () => {
  await ada.page.goto('/setup-token');
  await ada.page.getByRole('button', { name: 'Remove', exact: true }).click();
  await ada.page.getByRole('button', { name: 'Yes, remove', exact: true }).click();
  await ada.page.getByText('Removed. Your awake Sessions go to sleep').waitFor();
  const [{ id, title }] = await kndl.json('ls');
  await until('it is Asleep', async () => (await kndl.json('show', id))[0].session.state === 'STATE_ASLEEP');
  await ada.page.goto(`/sessions/${id}`);
  await ada.page.getByRole('status').getByText('Its Creator removed their setup token').waitFor();
  ada.expected.push(/status of 409/);
  await ada.page.getByRole('button', { name: 'Wake' }).click();
  await ada.page.getByRole('alert').getByText('You have no setup token').waitFor();
  ada.expected.pop();
  const heading = ada.page.getByRole('heading', { name: title });
  assert.ok((await heading.boundingBox()).width > 200, 'the title gives way to the error');
  await ada.check();
  await ada.page.getByRole('link', { name: 'Your setup token' }).click();
  await ada.page.getByText('You have no setup token yet').waitFor();
  await kndl.setSetupToken(SETUP_TOKEN);
});

test('RD-01: how often a value was masked stands beside it', async () => {
  await until('it was counted', async () => {
    const list = await kndl.json('vars', 'demo/hello');
    return Number(list.find((variable) => variable.name === 'TOKEN').masked.count ?? 0) > 0;
  });
  await ada.page.goto('/variables');
  await chooseRepo(ada);
  await row('TOKEN').getByText(/masked (once|\d+ times), last now/).waitFor();
  await row('WEAK').getByText('not masked yet').waitFor();
  assert.equal(await row('THREE=4').getByText('masked').count(), 0);
});

test('RD-01, RD-03, RD-07: redaction is tested, and what came out is shown', async () => {
  const redaction = ada.page.getByRole('region', { name: 'Redaction of demo/hello' });
  await redaction.getByRole('button', { name: 'Test redaction' }).click();
  await redaction.getByText('Masked everywhere.').waitFor();
  const sinks = redaction.getByRole('list', { name: 'What came out' }).getByRole('listitem');
  assert.ok((await sinks.count()) >= 13);
  const output = sinks.filter({ hasText: 'Tool output' });
  await output.getByText('Tool output').click();
  await output.getByText(/^it is \*{20,} here$/).first().waitFor();
  await output.getByText('base64: not found, as known').waitFor();
  await redaction.getByText(/Known not to be found: base64, wrapped with indentation/).waitFor();
  await ada.check();
  await ada.screenshot('variables-tested');
});

test('CR-06: the value never came back to the browser', async () => {
  assert.ok(answers.length > 10);
  const base64 = Buffer.from(SECRET).toString('base64').slice(0, 24);
  assert.ok(!answers.some((bytes) => bytes.includes(SECRET) || bytes.includes(base64)));
});

test('on a phone nothing is too small or too wide, in the dark', async () => {
  const phone = await Page.open(browser, kndl, { viewport: PHONE, colorScheme: 'dark' });
  await phone.signIn('ada');
  await phone.page.goto('/variables');
  await phone.page.getByRole('region', { name: 'Shared variables' }).waitFor();
  await chooseRepo(phone);
  await phone.page.getByRole('list', { name: 'Variables', exact: true }).waitFor();
  const redaction = phone.page.getByRole('region', { name: 'Redaction of demo/hello' });
  await redaction.getByRole('button', { name: 'Test redaction' }).click();
  await redaction.getByText('Masked everywhere.').waitFor();
  await redaction.getByText('Tool output').click();
  await phone.check();
  await phone.screenshot('variables-phone');
  assert.deepEqual(phone.complaints, []);
  await ada.page.goto('/variables');
  await ada.screenshot('variables');
  assert.deepEqual(ada.complaints, []);
});
