/*
 * hub-link-commands: does what the relay says, and says what came of it.
 *
 * A command stays at the relay until its *result* arrived (POST /mod/results), so a Claude Code
 * that dies between the two loses nothing: the next one asks from 0. `after` is only this load's
 * memory of what it has taken.
 *
 * It observes no more than it needs to act: which Turn of the main thread runs, and what a stop
 * moved to the background.
 *
 * Functions that take `$` must be declared at the top level, or Claude Code refuses the module.
 */

const RETRY_MS_MAX = 1000;
const STOP_MS_MAX = 5000; // how long a stop waits for the tools of its Turn to come back

let relay = '';
let token = '';
let after = 0;
let loopRuns = false;
let turn; // the main thread's running Turn, undefined between Turns
let turnEnded = () => {}; // called when it ends
const openCalls = new Set(); // the main thread's tool calls that run
const moved = new Set(); // ids of tasks that went to the background during the stop

function request(method, body) {
  return { method, headers: { authorization: 'Bearer ' + token }, body };
}

async function report($, command, outcome) {
  const body = JSON.stringify({ command: command.n, id: command.id, ...outcome });
  let pause = 50;

  for (;;) {
    try {
      const response = await $.http.fetch(relay + '/mod/results', request('POST', body));

      if (response.ok) return;
    } catch {
      /* again, below */
    }
    await $.clock.sleep(pause);
    pause = Math.min(2 * pause, RETRY_MS_MAX);
  }
}

/*
 * Submits as the person. The promise resolves when the Turn starts, *or* when Claude Code dropped
 * the prompt: only its absence of `drop` is a receipt.
 */
async function submitPrompt($, command) {
  const result = await $.prompt.submit({ text: command.text, asUser: true });

  return typeof result?.drop === 'string' ? { drop: result.drop } : { started: true };
}

/*
 * Puts text into the composer's box; the Runner presses Enter through tmux if it was taken, and
 * puts back what the person had been typing. With a dialog open it is refused.
 */
async function fillBox($, command) {
  const before = await $.prompt.read();
  const filled = await $.prompt.fill({ text: command.text, mode: 'replace' });

  return {
    result: {
      isFilled: filled?.isFilled === true,
      refusal: filled?.refusal,
      draft: before?.text ?? '',
    },
  };
}

/*
 * Stops the Turn. Claude Code moves a running Bash to the background instead of killing it, and
 * its end would start a Turn by itself, so those tasks are stopped too.
 */
async function stopTurn($, command) {
  const running = turn;

  if (running === undefined || (command.turnId && command.turnId !== running))
    return { result: { wasRunning: false } };

  const ended = new Promise((resolve) => {
    turnEnded = resolve;
  });
  moved.clear();
  await $.turn.abort({ turnId: running });
  await Promise.race([ended, $.clock.sleep(STOP_MS_MAX)]);
  for (let waited = 0; openCalls.size > 0 && waited < STOP_MS_MAX; waited += 20)
    await $.clock.sleep(20);

  const stopped = [...moved];
  moved.clear();
  for (const task of stopped) await $.tool.call({ tool: 'TaskStop', task_id: task });
  return { result: { wasRunning: true, stopped } };
}

async function carryOut($, command) {
  switch (command.op) {
    case 'prompt':
      return submitPrompt($, command);
    case 'fill':
      return fillBox($, command);
    case 'stop':
      return stopTurn($, command);
    default:
      return { error: 'unknown op ' + command.op };
  }
}

async function runCommand($, command) {
  let outcome;

  try {
    outcome = await carryOut($, command);
  } catch (x) {
    outcome = { error: String(x) };
  }
  await report($, command, outcome);
}

async function takeCommands($) {
  let pause = 50;

  for (;;) {
    try {
      const response = await $.http.fetch(relay + '/mod/commands?after=' + after, request('GET'));

      if (response.status === 200) {
        const command = JSON.parse(response.text);

        after = command.n;
        void runCommand($, command);
      } else if (response.status !== 204) throw new Error('status ' + response.status);
      pause = 50;
    } catch {
      await $.clock.sleep(pause);
      pause = Math.min(2 * pause, RETRY_MS_MAX);
    }
  }
}

async function onSessionStart($, e, next) {
  relay = (await $.env.get('KNDL_URL')) ?? '';
  token = (await $.env.get('KNDL_MOD_TOKEN')) ?? '';
  if (!loopRuns) {
    loopRuns = true;
    void takeCommands($);
  }
  return next(e);
}

async function onTurnStart($, e, next) {
  if (e.agentId === undefined) turn = e.turnId;
  return next(e);
}

async function onTurnComplete($, e, next) {
  if (e.agentId === undefined) {
    turn = undefined;
    turnEnded();
  }
  return next(e);
}

async function onToolCall($, e, next) {
  if (e.agentId !== undefined) return next(e);

  openCalls.add(e.tool_use_id);
  try {
    const result = await next(e);
    const task = result?.result?.backgroundTaskId;

    if (typeof task === 'string' && result.result.backgroundedByTurnAbort !== false)
      moved.add(task);
    return result;
  } finally {
    openCalls.delete(e.tool_use_id);
  }
}

export const register = (on) => {
  on('session.start', onSessionStart);
  on('turn.start', onTurnStart);
  on('turn.complete', onTurnComplete);
  on('tool.call', onToolCall);
};
