import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createWebhookPoster, newWebhookSecret } from '@herald/outbound'
import { freePort, until } from '@herald/testkit'
import { expect, it } from '@jest/globals'

const page = readFileSync(join(import.meta.dirname, '../../../docs/events.md'), 'utf8')
const example = /```js\n(.*?)```/s.exec(page)![1]!

it('the receiver of docs/events.md verifies requests and prints each entry once', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'herald-receiver-'))
  const file = join(dir, 'receiver.mjs')
  writeFileSync(file, example)
  const port = await freePort()
  const secret = newWebhookSecret()
  const receiver = spawn(process.execPath, [file], {
    env: { ...process.env, SECRET: secret, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  receiver.stdout.setEncoding('utf8').on('data', (text) => {
    output += text
  })
  const poster = createWebhookPoster({ mayCall: () => true })
  const post = (id: string, signedWith: string, data: object[]) =>
    poster.post({
      url: `http://127.0.0.1:${port}/herald`,
      secret: signedWith,
      id,
      body: Buffer.from(JSON.stringify({ type: 'herald.events', timestamp: '', data })),
    })
  try {
    const first = { id: '7-0', type: 'device.sent', task_id: 5, device_guid: 'é' }
    await until(async () => (await post('a', secret, [first])).status !== undefined)
    expect(await post('a', secret, [first])).toMatchObject({ status: 204 })
    expect(await post('b', secret, [first, { id: '7-1', type: 'task.finished', task_id: 5 }])).toMatchObject({
      status: 204,
    })
    expect(await post('c', newWebhookSecret(), [{ id: '8-0', type: 'forged' }])).toMatchObject({
      status: 401,
    })
    const crash = await fetch(`http://127.0.0.1:${port}/`, {
      method: 'POST',
      headers: { 'webhook-signature': `v1,${'\u00e9'.repeat(44)}` },
      body: '{',
    })
    expect(crash.status).toBe(401)
    await until(async () => output.includes('7-1'))
    expect(output).toBe('7-0 device.sent 5 é\n7-1 task.finished 5 \n')
  } finally {
    poster.close()
    receiver.kill()
    rmSync(dir, { recursive: true, force: true })
  }
})
