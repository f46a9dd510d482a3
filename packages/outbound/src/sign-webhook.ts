import { createHmac, randomBytes } from 'node:crypto'

const PREFIX = 'whsec_'

export function newWebhookSecret(): string {
  return PREFIX + randomBytes(32).toString('base64')
}

/** The headers of Standard Webhooks (https://www.standardwebhooks.com), version v1: HMAC-SHA256 of id, timestamp and body. */
export function signedHeaders(
  secret: string,
  id: string,
  body: string | Buffer,
  seconds: number,
): Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string> {
  const key = Buffer.from(secret.slice(PREFIX.length), 'base64')
  const signature = createHmac('sha256', key).update(`${id}.${seconds}.`).update(body).digest('base64')
  return { 'webhook-id': id, 'webhook-timestamp': String(seconds), 'webhook-signature': `v1,${signature}` }
}
