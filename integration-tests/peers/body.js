'use strict';
// A request's body, read whole.

async function read(req, bytesMax) {
  const chunks = [];
  let size = 0;
  for await (const chunk of req) {
    size += chunk.length;
    if (size > bytesMax) throw new Error('the body is too long');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

module.exports = { read };
