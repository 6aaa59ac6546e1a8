// How a value may look where it was copied without a thought: plain, base64 at each of three places,
// hex, as encoders of URLs and of JSON write it.

export const LEAST_BYTES = 12; // what is shorter is found by chance
const ARMOUR = /^-----(BEGIN|END) .*-----$/; // the same around every key

// Of all characters but those that any neighbours change.
function base64(bytes, shift, encoding) {
  const text = Buffer.concat([Buffer.alloc(shift), bytes]).toString(encoding).replace(/=+$/, '');
  const isCut = (bytes.length + shift) % 3 !== 0;
  return text.slice([0, 2, 3][shift], isCut ? -1 : undefined);
}

const lowerEscapes = (url) => url.replace(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase());

// What bytes look like, whatever they say.
function bytesForms(bytes) {
  const list = [];
  for (const shift of [0, 1, 2]) {
    list.push([`base64 (${shift})`, base64(bytes, shift, 'base64')]);
    list.push([`base64url (${shift})`, base64(bytes, shift, 'base64url')]);
  }
  const hex = bytes.toString('hex');
  list.push(['hex', hex], ['hex (upper case)', hex.toUpperCase()]);
  return list;
}

function textForms(text) {
  const json = JSON.stringify(text).slice(1, -1);
  const twice = JSON.stringify(json).slice(1, -1);
  const url = encodeURIComponent(text);
  const strict = url.replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
  const form = url.replace(/%20/g, '+');
  const list = [['plain', text], ['JSON', json], ['JSON, twice', twice],
    ['JSON (slashes)', json.replaceAll('/', '\\/')]];
  for (const [name, spelt] of [['URL', url], ['URL, strict', strict], ['URL, of a form', form]])
    list.push([name, spelt], [`${name} (lower case)`, lowerEscapes(spelt)]);
  list.push(...bytesForms(Buffer.from(text)));
  if (json !== text)
    list.push(...bytesForms(Buffer.from(json)).map(([name, spelt]) => [`${name} of JSON`, spelt]));
  return list;
}

// [form, text] of each way to write a value; of a long one with several lines each long line, too.
// No text has a line break, and each comes once.
export function formsOf(value) {
  const whole = Buffer.isBuffer(value) ? bytesForms(value) : textForms(value);
  const rows = Buffer.isBuffer(value) ? [] : value.split(/\r?\n/);
  const parts = rows.length < 2 ? [] : rows.flatMap((line, n) =>
    ARMOUR.test(line) ? [] : textForms(line).map(([name, spelt]) => [`line ${n + 1}, ${name}`, spelt]));
  const seen = new Set();
  return [...whole, ...parts].filter(([, text]) => {
    if (text.length < LEAST_BYTES || text.includes('\n') || seen.has(text)) return false;
    seen.add(text);
    return true;
  });
}
