// People in real browsers, without dev login: Setup link → Owner → Invite → a second Member in
// another browser, who sees only the Repos they may, and is out of an open Session page when access
// is taken away while it streams. AC-01, AC-02, AC-07, AC-09, CL-01 in the browser.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { Kndl } from '../harness/kndl.mjs';
import { until } from '../harness/until.mjs';
import { DESKTOP, launch, Page, PHONE } from './browser.mjs';

const SETUP_TOKEN = 'sk-ant-oat01-people-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';

let kndl;
let browser;
let ada;
let grace;

before(async () => {
  kndl = await Kndl.start('web-people', {
    env: { KNDL_DEV_LOGIN: 'off', KNDL_DEV_REPO_ACCESS_TTL_MS: '1500' },
  });
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await kndl?.stop();
});

// Who is not signed in yet asks who they are.
async function open(viewport) {
  const page = await Page.open(browser, kndl, { viewport });
  page.expected.push(/status of 401/);
  return page;
}

async function asAccount(page, login) {
  await page.page.getByRole('link', { name: new RegExp(`^${login} `) }).click();
}

async function copyInvite(login) {
  await ada.page.goto('/members');
  await ada.page.getByLabel('GitHub login').fill(login);
  await ada.page.getByRole('button', { name: 'Invite', exact: true }).click();
  return (await ada.page.getByTestId('invite-link').textContent()).trim();
}

test('AC-01, AC-02: the Setup link makes the Owner', async () => {
  const link = fs.readFileSync(path.join(kndl.facts.run_dir, 'setup/link'), 'utf8').trim();
  ada = await open(DESKTOP);
  await ada.page.goto(link);
  await ada.page.getByText('has no Owner yet').waitFor();
  await ada.screenshot('setup');
  await ada.page.getByRole('button', { name: 'Sign in with GitHub and become the Owner' }).click();
  await asAccount(ada, 'ada');
  await ada.page.getByRole('link', { name: 'Members' }).click();
  await ada.page.getByRole('list', { name: 'Members' }).getByText('Owner').waitFor();
  assert.equal(new URL(ada.page.url()).hash, '');
});

test('what a Session lacks is said before its prompt is written, which is not lost', async () => {
  await ada.page.goto('/new');
  await ada.page.getByText('You have no setup token').waitFor();
  await ada.page.getByText('There is no Runner').waitFor();
  await ada.check();
  await ada.screenshot('lacking');
  await ada.page.getByLabel('What should Claude do?').fill('say hello');
  await ada.page.getByRole('link', { name: 'See the Runners' }).click();
  await ada.page.getByText('There is no Runner yet').waitFor();
  await ada.page.goBack();
  await ada.page.getByRole('link', { name: 'Set your setup token' }).click();
  await ada.page.getByLabel('Setup token', { exact: true }).fill(SETUP_TOKEN);
  await ada.page.getByRole('button', { name: 'Save' }).click();
  await ada.page.getByText('Saved.').waitFor();
  await ada.page.getByRole('link', { name: 'New Session' }).click();
  assert.equal(await ada.page.getByLabel('What should Claude do?').inputValue(), 'say hello');
  await ada.page.getByText('There is no Runner').waitFor();
  assert.equal(await ada.page.getByText('You have no setup token').count(), 0);
});

test('a setup token that ends soon, or has, is said where it matters', async () => {
  const day = 24 * 60 * 60 * 1000;
  for (const [days, words, said] of [[350, 'Your setup token ends by', 'Your token ends by'],
    [370, 'Your setup token has probably ended', 'Your token has probably ended']]) {
    await ada.page.clock.setFixedTime(Date.now() + days * day);
    await ada.page.goto('/new');
    await ada.page.getByText(words).waitFor();
    await ada.page.getByRole('link', { name: 'Set a new one' }).click();
    await ada.page.getByText(said).waitFor();
  }
  await ada.page.clock.setFixedTime(Date.now());
  await ada.page.goto('/setup-token');
  await ada.page.getByText('A token is set').waitFor();
  assert.equal(await ada.page.getByText('Your token ends by').count(), 0);
  await ada.check();
});

test('the Owner registers a Runner, whose token is shown once', async () => {
  await ada.page.goto('/runners');
  await ada.page.getByText('There is no Runner yet').waitFor();
  assert.equal(await ada.page.title(), 'Runners · kndl');
  await ada.page.getByLabel('Register a Runner').fill('this machine');
  await ada.page.getByRole('button', { name: 'Register', exact: true }).click();
  const token = (await ada.page.getByTestId('runner-token').textContent()).trim();
  assert.match(token, /^kndl_run_/);
  await ada.page.getByRole('button', { name: 'Copy' }).waitFor();
  await ada.page.getByText('has not been here yet').waitFor();
  await kndl.giveRunnerToken(token);
  await ada.page.goto('/runners');
  await ada.page.getByText('connected', { exact: true }).waitFor();
  await ada.check();
  for (const [button, told] of [['Rotate token', 'is refused from here on'], ['Remove this machine', 'can never be woken']]) {
    await ada.page.getByRole('button', { name: button }).click();
    await ada.page.getByRole('group', { name: button }).getByText(told).waitFor();
    await ada.page.locator(':focus').getByText('No', { exact: true }).click();
  }
  assert.equal(await ada.page.getByTestId('runner-token').count(), 0);
  await ada.screenshot('runners');
  await ada.page.goto('/new');
  await ada.page.getByRole('button', { name: 'Start' }).waitFor();
  assert.equal(await ada.page.getByRole('link', { name: 'See the Runners' }).count(), 0);
});

test('AC-01: who has no Invite is told that the Hub is invite-only, and nothing else', async () => {
  const stranger = await open(PHONE);
  await stranger.page.goto('/');
  await stranger.page.getByRole('button', { name: 'Sign in with GitHub' }).click();
  await asAccount(stranger, 'stranger');
  await stranger.page.getByRole('alert').getByText('This Hub is invite-only.').waitFor();
  await stranger.page.getByRole('button', { name: 'Sign in with GitHub' }).waitFor();
  const said = await stranger.page.getByRole('main').innerText();
  assert.deepEqual(said.split(/\n+/), ['kndl', 'This Hub is invite-only.', 'Sign in with GitHub']);
  await stranger.check();
  await stranger.screenshot('refused');
  await stranger.close();
});

test('AC-09: an Invite lets the second Member in, in another browser', async () => {
  const link = await copyInvite('grace');
  await ada.page.getByRole('list', { name: 'Invites' }).getByText('grace').waitFor();
  await ada.screenshot('invited');
  grace = await open(PHONE);
  await grace.page.goto(link);
  await grace.page.getByText('You are invited.').waitFor();
  await grace.check();
  await grace.page.getByRole('button', { name: 'Accept with GitHub' }).click();
  await asAccount(grace, 'grace');
  await grace.page.getByRole('link', { name: 'Members' }).click();
  await grace.page.getByText('you', { exact: true }).waitFor();
  assert.equal(await grace.page.getByText('Invites').count(), 0);
  await grace.check();
  await grace.screenshot('members-phone');
});

test('CL-01: a machine is signed in by who says yes in the browser', async () => {
  const child = kndl.spawnCli(['login']);
  let said = '';
  child.stdout.on('data', (chunk) => { said += chunk; });
  const ended = new Promise((resolve) => child.on('close', resolve));
  const code = await until('the code is shown', () => /\/device#([A-Z]{4}-[A-Z]{4})/.exec(said)?.[1]);
  await ada.page.goto(`/device#${code}`);
  await ada.page.getByLabel('Code').getByText(code).waitFor();
  await ada.screenshot('device');
  await ada.page.getByRole('button', { name: 'Yes, sign it in' }).click();
  await ada.page.getByText('is signed in as you').waitFor();
  assert.equal(await ended, 0);
  await ada.page.goto('/sign-ins');
  await ada.page.getByText(/^kndl on /).waitFor();
  await ada.page.getByText('this one').waitFor();
  await ada.check();
  await ada.screenshot('sign-ins');
});

test('AC-05, AC-07: they see what they may, and are out while it streams', async () => {
  const [{ id: hidden }] = await kndl.json('new', 'demo/notes', '--prompt', 'say hidden');
  const [{ id }] = await kndl.json('new', 'demo/hello', '--prompt', 'hold');
  await until('text is held', async () => (await kndl.anthropic.held()) > 0);

  await grace.page.goto('/');
  await grace.page.getByRole('link', { name: /demo\/hello/ }).first().waitFor();
  assert.equal(await grace.page.getByText('demo/notes').count(), 0);
  grace.expected.push(/status of 404/);
  await grace.page.goto(`/sessions/${hidden}`);
  await grace.page.getByText(/does not exist/).waitFor();
  await grace.page.goto(`/sessions/${id}`);
  const log = grace.page.getByRole('log', { name: 'Transcript' });
  await log.getByText('hold').first().waitFor();
  await grace.screenshot('watching');

  await kndl.github.patch({ repos: { 3001: { collaborators: { grace: null } } } });
  await grace.page.getByText(/does not exist/).waitFor({ timeout: 20 * 1000 });
  assert.equal(await log.count(), 0);
  assert.equal(await grace.page.title(), 'kndl');
  await grace.page.getByRole('link', { name: 'All Sessions' }).click();
  await grace.page.getByText('No Sessions yet').waitFor({ timeout: 10 * 1000 }); // not at the list's next round
  await grace.screenshot('out');
  await grace.page.goto('/new');
  await grace.page.getByText('There is no Repo that you may start a Session on').waitFor();
  await grace.check();
  assert.equal(await ada.page.goto(`/sessions/${id}`).then((answer) => answer.status()), 200);
  await ada.page.getByRole('log', { name: 'Transcript' }).getByText('hold').first().waitFor();
  await kndl.anthropic.release();
});

test('AC-09: a removed Member is at the door again', async () => {
  await ada.page.goto('/members');
  await ada.page.getByRole('button', { name: 'Remove grace' }).click();
  await ada.page.locator(':focus').getByText('No', { exact: true }).waitFor();
  await ada.page.getByRole('button', { name: 'Yes, remove grace' }).click();
  await ada.page.getByRole('list', { name: 'Members' }).getByText('grace', { exact: true }).waitFor({ state: 'detached' });
  await grace.page.goto('/');
  await grace.page.getByRole('button', { name: 'Sign in with GitHub' }).waitFor();
  await grace.close();
  await ada.close();
});
