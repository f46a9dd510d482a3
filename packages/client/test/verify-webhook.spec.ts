import { verifyWebhook, WebhookError } from '@herald/client'
import { describe, expect, it } from '@jest/globals'
import { Webhook } from 'standardwebhooks'

const secret = `whsec_${Buffer.from('a secret of 32 bytes for a spec!').toString('base64')}`
const body = JSON.stringify({
  type: 'herald.events',
  data: [{ id: '1-0', type: 'task.finished', text: '推送' }],
})
const at = new Date()

/** Signed by the reference library. */
function signed(text = body, time = at): Record<string, string> {
  return {
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(Math.floor(time.getTime() / 1000)),
    'webhook-signature': new Webhook(secret).sign('msg_1', time, text),
  }
}

describe('verifyWebhook', () => {
  it('returns the entries of a request that the reference library has signed', async () => {
    const entries = [{ id: '1-0', type: 'task.finished', text: '推送' }]
    expect(await verifyWebhook(body, signed(), secret)).toEqual(entries)
    expect(await verifyWebhook(Buffer.from(body), new Headers(signed()), secret)).toEqual(entries)
  })

  it('accepts one of several signatures', async () => {
    const headers = signed()
    headers['webhook-signature'] = `v1,AAAA v1a,BBBB ${headers['webhook-signature']}`
    expect(await verifyWebhook(body, headers, secret)).toHaveLength(1)
  })

  it.each([
    ['another body', `${body} `, signed(), secret],
    ['another id', body, { ...signed(), 'webhook-id': 'msg_2' }, secret],
    ['another secret', body, signed(), `whsec_${Buffer.from('another').toString('base64')}`],
    ['no signature', body, { ...signed(), 'webhook-signature': '' }, secret],
    ['another version', body, { ...signed(), 'webhook-signature': 'v2,AAAA' }, secret],
    ['a signature that is not base64', body, { ...signed(), 'webhook-signature': 'v1,?' }, secret],
    ['an old timestamp', body, signed(body, new Date(at.getTime() - 301_000)), secret],
    ['a timestamp of the future', body, signed(body, new Date(at.getTime() + 301_000)), secret],
    ['a timestamp that is no number', body, { ...signed(), 'webhook-timestamp': 'now' }, secret],
  ])('refuses %s', async (_name, text, headers, key) => {
    await expect(verifyWebhook(text, headers, key, at.getTime())).rejects.toThrow(WebhookError)
  })
})
