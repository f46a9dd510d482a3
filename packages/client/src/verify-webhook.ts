import { fromExactJson } from './exact-json.ts'
import type { EventEntry } from './records.ts'

/** The request is not from Herald, or too old. The message is one sentence. */
export class WebhookError extends Error {
  override name = 'WebhookError'
}

/** Seconds by which the clocks may differ. */
const TOLERANCE = 300

type WebhookHeaders =
  | Readonly<Record<string, string | readonly string[] | undefined>>
  | { get(name: string): string | null }

/**
 * Checks that a request comes from Herald (Standard Webhooks) and returns its entries. `body` is the text or the bytes as they arrived: JSON
 * that was parsed and written again has another signature. Throws WebhookError.
 */
export async function verifyWebhook(
  body: string | Uint8Array,
  headers: WebhookHeaders,
  secret: string,
  now: number = Date.now(),
): Promise<EventEntry[]> {
  const id = headerOf(headers, 'webhook-id')
  const timestamp = headerOf(headers, 'webhook-timestamp')
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(now / 1000 - Number(timestamp)) > TOLERANCE)
    throw new WebhookError('The header webhook-timestamp is not within five minutes of now.')
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
  const signed = joined(new TextEncoder().encode(`${id}.${timestamp}.`), bytes)
  const key = await crypto.subtle.importKey(
    'raw',
    fromBase64(secret.replace(/^whsec_/, '')),
    { name: 'HMAC', hash: 'SHA-256' },
    false,
    ['verify'],
  )
  // More than one while a sender changes its secret.
  for (const one of headerOf(headers, 'webhook-signature').split(' ')) {
    const [version, signature = ''] = one.split(',')
    if (version !== 'v1') continue
    // Compares in constant time.
    if (await crypto.subtle.verify('HMAC', key, fromBase64(signature), signed))
      return (fromExactJson(new TextDecoder().decode(bytes)) as { data: EventEntry[] }).data
  }
  throw new WebhookError('The signature does not fit the body and the secret.')
}

function headerOf(headers: WebhookHeaders, name: string): string {
  const value =
    typeof headers.get === 'function'
      ? (headers as { get(name: string): string | null }).get(name)
      : (headers as Record<string, string | undefined>)[name]
  if (typeof value !== 'string' || value === '') throw new WebhookError(`The header ${name} is missing.`)
  return value
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(first.length + second.length)
  both.set(first)
  both.set(second, first.length)
  return both
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  } catch {
    throw new WebhookError('The secret or the signature is not base64.')
  }
}
