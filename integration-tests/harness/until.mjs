// Waiting for a condition: the only way in which a test may let time pass.

const EVERY_MS = 50;

// The first truthy value of `test`, asked again and again; what it throws last is the reason.
export async function until(what, test, timeoutMs = 60 * 1000) {
  const end = Date.now() + timeoutMs;
  let reason = '';
  for (;;) {
    try {
      const value = await test();
      if (value) return value;
      reason = '';
    } catch (error) {
      reason = `: ${error.message}`;
    }
    if (Date.now() > end) throw new Error(`not within ${timeoutMs} ms: ${what}${reason}`);
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
  }
}
