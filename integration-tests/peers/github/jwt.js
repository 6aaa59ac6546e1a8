'use strict';
// Checks an App's JWT as GitHub documents it: RS256, issuer, issued in the past, ten minutes at
// most.

const crypto = require('crypto');

const LIFE_S_MAX = 600;
const SKEW_S = 60;

function decode(part) {
  return JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
}

// Answers null if the token is good, otherwise GitHub's message.
function refuse(token, app, publicKey) {
  const parts = token.split('.');
  if (parts.length !== 3) return 'A JSON web token could not be decoded';
  let header;
  let claims;
  try {
    header = decode(parts[0]);
    claims = decode(parts[1]);
  } catch {
    return 'A JSON web token could not be decoded';
  }
  const signed = Buffer.from(`${parts[0]}.${parts[1]}`);
  const signature = Buffer.from(parts[2], 'base64url');
  if (header.alg !== 'RS256' || !crypto.verify('RSA-SHA256', signed, publicKey, signature))
    return 'A JSON web token could not be decoded';

  const now = Math.floor(Date.now() / 1000);
  if (!Number.isInteger(claims.iat) || claims.iat > now + SKEW_S)
    return "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued";
  if (!Number.isInteger(claims.exp) || claims.exp <= now)
    return "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires";
  if (claims.exp > now + LIFE_S_MAX + SKEW_S)
    return "'Expiration time' claim ('exp') is too far in the future";
  if (![String(app.id), app.client_id].includes(String(claims.iss)))
    return "'Issuer' claim ('iss') must be an Integer";
  return null;
}

module.exports = { refuse };
