import type { Message } from '@herald/domain'
import { type MeizuSimulatorOptions, startMeizuSimulator } from '@herald/simulators/meizu'
import { type SimReply, startSimServer } from '@herald/simulators/server'
import { afterEach, describe, expect, it } from '@jest/globals'
import { isUnsupported, type Task, type TransportDeps } from '../../src/channel.ts'
import { adapter as meizu } from '../../src/meizu/channel.ts'
import { outcomesOf } from '../outcomes-of.ts'
import { sampleDeps, sampleNow, sampleTask, sampleUrls } from '../samples.ts'
import { meizuCertificate, meizuCredential, meizuToken } from './fixtures.ts'

type Extra = Record<string, unknown>

const tokens = (count: number) => Array.from({ length: count }, (_, i) => meizuToken(i))
const opened: { close(): Promise<void> }[] = []

afterEach(async () => {
  await Promise.all(opened.splice(0).map((one) => one.close()))
})

function connect(url: string, extra: Extra = {}, over: Parameters<typeof sampleDeps>[0] = {}) {
  const settings = meizu.readSettings(meizuCertificate({ extra }))
  const deps = sampleDeps({ urls: sampleUrls({ meizu: url }), ...over })
  const transport = meizu.open(settings, deps)
  opened.push(transport)
  const payloadOf = (message: Partial<Message> = {}, taskId = 7001, task: Partial<Task> = {}) => {
    const payload = meizu.mapPayload(sampleTask(message, { taskId, ...task }), settings)
    if (isUnsupported(payload)) throw new Error(payload.unsupported)
    return payload
  }
  return { transport, payloadOf, deps }
}

async function simulate(options: MeizuSimulatorOptions = {}) {
  const simulator = await startMeizuSimulator({ credentials: [meizuCredential], ...options })
  opened.push(simulator)
  return simulator
}

/** A vendor with replies defined by the test, perhaps as promises; stores the forms it receives. */
async function pretend(answer: (path: string, form: URLSearchParams) => unknown) {
  const calls: { path: string; form: URLSearchParams }[] = []
  const server = await startSimServer({
    async otherwise({ path, form }): Promise<SimReply> {
      calls.push({ path, form: form() })
      return { body: await answer(path, form()) }
    },
    throttled: () => undefined,
    unavailable: () => ({ status: 500, body: '' }),
  })
  opened.push(server)
  return { url: server.url, calls }
}

const ok = { code: '200', message: '', value: {}, msgId: 'm' }

describe('the Meizu transport', () => {
  it('halves a call that is refused for an unknown target, until the bad one is alone', async () => {
    const bad = meizuToken(3)
    const { url, calls } = await pretend((_path, form) =>
      form.get('pushIds')!.split(',').includes(bad) ? { code: '110003', message: '', value: '' } : ok,
    )
    const { transport, payloadOf } = connect(url)
    const outcomes = await outcomesOf(transport, payloadOf(), tokens(8))
    expect(outcomes.map((outcome) => outcome.kind)).toEqual([
      ...['accepted', 'accepted', 'accepted', 'gone'],
      ...['accepted', 'accepted', 'accepted', 'accepted'],
    ])
    const accepted = calls.flatMap(({ form }) => {
      const ids = form.get('pushIds')!.split(',')
      return ids.includes(bad) ? [] : ids
    })
    expect(accepted.sort()).toEqual(tokens(8).filter((token) => token !== bad))
  })

  it('sends once to a token that is in a call twice, and reports both', async () => {
    const simulator = await simulate()
    const { transport, payloadOf } = connect(simulator.url)
    const token = meizuToken(1)
    expect(await outcomesOf(transport, payloadOf(), [token, token])).toEqual([
      { kind: 'accepted' },
      { kind: 'accepted' },
    ])
    expect(simulator.ledger(7001)).toEqual({ accepted: 1, distinct: 1, duplicates: 0 })
  })

  it('distinguishes muted, collapsed and failed devices in one call', async () => {
    const simulator = await simulate()
    const { transport, payloadOf } = connect(simulator.url)
    const preset = (code: number) => `preset${code}000000000000`
    const asked = [meizuToken(1), preset(110010), preset(513), preset(520), preset(110002), preset(518)]
    const outcomes = await outcomesOf(transport, payloadOf(), asked)
    expect(outcomes.map((outcome) => outcome.kind)).toEqual([
      ...['accepted', 'rejected', 'unavailable', 'rejected', 'gone', 'throttled'],
    ])
  })

  it('uploads a picture once per task and shows it', async () => {
    const { url, calls } = await pretend((path) =>
      path.endsWith('/uploadImg')
        ? { ...ok, value: { imgType: 1, imgUrl: 'https://meizu.example/1.png' } }
        : ok,
    )
    const { transport, payloadOf } = connect(url, { vip: true })
    const image = payloadOf({
      type: 'image',
      attachmentUrl: 'https://example.com/p.png',
      bigText: 'loses to the picture',
    })
    await outcomesOf(transport, image, tokens(1))
    await outcomesOf(transport, image, tokens(2))
    expect(calls.map(({ path }) => path.split('/').at(-1))).toEqual([
      'uploadImg',
      'pushByPushId',
      'pushByPushId',
    ])
    expect(calls[0]!.form.get('imgUrl')).toBe('https://example.com/p.png')
    expect(JSON.parse(calls[2]!.form.get('messageJson')!).noticeExpandInfo).toEqual({
      noticeExpandType: 2,
      noticeExpandImgUrl: 'https://meizu.example/1.png',
    })
  })

  it.each([
    ['refused', { code: '1005', message: 'too large', value: '' }],
    ['answered nonsense', 'nonsense'],
    ['answered without an address', ok],
  ])('sends only the text when the picture is %s', async (_what, answer) => {
    const { url, calls } = await pretend((path) => (path.endsWith('/uploadImg') ? answer : ok))
    const { transport, payloadOf } = connect(url, { vip: true })
    const image = payloadOf({ type: 'image', attachmentUrl: 'https://example.com/p.png', bigText: 'Long' })
    expect(await outcomesOf(transport, image, tokens(1))).toEqual([{ kind: 'accepted' }])
    expect(JSON.parse(calls.at(-1)!.form.get('messageJson')!)).toMatchObject({
      noticeExpandInfo: { noticeExpandType: 1, noticeExpandContent: 'Long' },
      clickTypeInfo: { parameters: { attachment_url: 'https://example.com/p.png' } },
    })
  })

  it('does not upload a picture again that was refused for this task', async () => {
    const { url, calls } = await pretend((path) =>
      path.endsWith('/uploadImg') ? { code: '1005', message: '', value: '' } : ok,
    )
    const { transport, payloadOf } = connect(url, { vip: true })
    const image = payloadOf({ type: 'image', attachmentUrl: 'https://example.com/p.png' })
    for (let i = 0; i < 3; i++) await outcomesOf(transport, image, tokens(1))
    expect(calls.filter(({ path }) => path.endsWith('/uploadImg'))).toHaveLength(1)
  })

  it.each(['500', '1003', '110010'])('uploads the picture again after the passing error %s', async (code) => {
    let uploads = 0
    const { url, calls } = await pretend((path) => {
      if (!path.endsWith('/uploadImg')) return ok
      return ++uploads === 1
        ? { code, message: '', value: '' }
        : { ...ok, value: { imgType: 1, imgUrl: 'https://meizu.example/1.png' } }
    })
    const { transport, payloadOf } = connect(url, { vip: true })
    const image = payloadOf({ type: 'image', attachmentUrl: 'https://example.com/p.png' })
    for (let i = 0; i < 2; i++)
      expect(await outcomesOf(transport, image, tokens(1))).toEqual([{ kind: 'accepted' }])
    const [first, second] = calls.flatMap(({ form }) => form.get('messageJson') ?? [])
    expect(first).not.toContain('meizu.example')
    expect(second).toContain('meizu.example')
  })

  it('uploads a picture three times if the error never passes, then sends the rest of the task without it', async () => {
    const { url, calls } = await pretend((path) =>
      path.endsWith('/uploadImg') ? { code: '500', message: '', value: '' } : ok,
    )
    const { transport, payloadOf } = connect(url, { vip: true })
    const image = payloadOf({ type: 'image', attachmentUrl: 'https://example.com/p.png' })
    for (let i = 0; i < 5; i++)
      expect(await outcomesOf(transport, image, tokens(1))).toEqual([{ kind: 'accepted' }])
    expect(calls.filter(({ path }) => path.endsWith('/uploadImg'))).toHaveLength(3)
  })

  it('uploads a picture with a time limit that is not a multiple of three', async () => {
    const { url, calls } = await pretend((path) =>
      path.endsWith('/uploadImg')
        ? { ...ok, value: { imgType: 1, imgUrl: 'https://meizu.example/1.png' } }
        : ok,
    )
    const { transport, payloadOf } = connect(url, { vip: true }, { timeoutMs: 10_000 })
    const image = payloadOf({ type: 'image', attachmentUrl: 'https://example.com/p.png' })
    expect(await outcomesOf(transport, image, tokens(1))).toEqual([{ kind: 'accepted' }])
    expect(calls.at(-1)!.form.get('messageJson')).toContain('https://meizu.example/1.png')
  })

  describe('while the upload of a picture gets no reply', () => {
    const never = new Promise<never>(() => {})
    const sendSix = async (taskMemory: TransportDeps['taskMemory']) => {
      const { url, calls } = await pretend((path) => (path.endsWith('/uploadImg') ? never : ok))
      const { transport, payloadOf } = connect(url, { vip: true }, { timeoutMs: 3000, taskMemory })
      const image = payloadOf({ type: 'image', attachmentUrl: 'https://example.com/p.png' })
      const sends = Array.from({ length: 6 }, () => outcomesOf(transport, image, tokens(1)))
      expect((await Promise.all(sends)).flat()).toEqual(Array(6).fill({ kind: 'accepted' }))
      return calls.map(({ path }) => path.split('/').at(-1)).sort()
    }

    it('sends without it, after one upload for all calls of the task', async () => {
      let turn: Promise<unknown> = Promise.resolve()
      // As the store does it: the others wait, and after a failure the next one makes the value.
      const taskMemory: TransportDeps['taskMemory'] = (_taskId, _key, make) => {
        const made = turn.then(make, make)
        turn = made
        return made
      }
      expect(await sendSix(taskMemory)).toEqual([...Array(6).fill('pushByPushId'), 'uploadImg'])
    })

    it('sends without it if another process makes the upload', async () => {
      expect(await sendSix(() => never)).toEqual(Array(6).fill('pushByPushId'))
    })
  })

  it('sends pictures and pass-through messages of entitled applications to the simulator', async () => {
    const simulator = await simulate({ credentials: [{ ...meizuCredential, vip: true, passThrough: true }] })
    const { transport, payloadOf } = connect(simulator.url, { vip: true, pass_through: true })
    const image = payloadOf({ type: 'image', attachmentUrl: 'https://example.com/p.png' }, 7001)
    expect(await outcomesOf(transport, image, tokens(2))).toEqual([
      { kind: 'accepted' },
      { kind: 'accepted' },
    ])
    const cmd = payloadOf({ type: 'cmd', ext: '{"a":1}' }, 7002)
    expect(await outcomesOf(transport, cmd, tokens(2))).toEqual([{ kind: 'accepted' }, { kind: 'accepted' }])
    expect(simulator.ledger(7001).distinct).toBe(2)
    expect(simulator.ledger(7002).distinct).toBe(2)
  })

  it('signs the text that it sends, whatever it contains', async () => {
    const simulator = await simulate()
    const { transport, payloadOf } = connect(simulator.url)
    const odd = payloadOf({
      title: 'a+b & c=d 100% 订单',
      body: '"\\\u2028 😀 ~!*()\'',
      ext: '{"n":9007199254740993,"文":"\\u0000"}',
    })
    expect(await outcomesOf(transport, odd, tokens(2))).toEqual([{ kind: 'accepted' }, { kind: 'accepted' }])
  })

  it('calls the overseas host if the certificate says so and a host is set', async () => {
    const simulator = await simulate()
    const nowhere = 'http://127.0.0.1:9'
    const overseas = { urls: sampleUrls({ meizu: nowhere, meizuIntl: simulator.url }) }
    const kind = async (way: ReturnType<typeof connect>) =>
      (await outcomesOf(way.transport, way.payloadOf(), tokens(1)))[0]?.kind
    expect(await kind(connect('', { region: 'intl' }, overseas))).toBe('accepted')
    expect(await kind(connect('', { region: 'cn' }, overseas))).toBe('unavailable')
    expect(await kind(connect(simulator.url, { region: 'intl' }))).toBe('accepted')
  })

  const callbackUrl = 'https://push.example.com/r'
  it.each([[], ['bad_parameter_is_500']])(
    'sends without receipts when their URL is not registered, and warns (%s)',
    async (...rules) => {
      const simulator = await simulate()
      simulator.setFaults({ rules })
      const { transport, payloadOf, deps } = connect(simulator.url, { receipt_registered: true })
      const message = { showEnd: sampleNow + 5400 }
      expect(await outcomesOf(transport, payloadOf(message, 7001, { callbackUrl }), tokens(2))).toEqual([
        { kind: 'accepted' },
        { kind: 'accepted' },
      ])
      const code = rules.length > 0 ? 'flyme.500' : 'flyme.1005'
      expect(deps.holds.find('without receipts')).toMatchObject({ kind: 'rejected', reason: { code } })
      expect(deps.holds.find('without timed display')).toBeUndefined()
      const before = simulator.requests()
      await outcomesOf(transport, payloadOf(message, 7002, { callbackUrl }), tokens(2))
      expect(simulator.requests() - before).toBe(1)
    },
  )

  it('repeats a call after the passing error 500, with all of its parts', async () => {
    let sends = 0
    const { url, calls } = await pretend(() => (++sends === 1 ? { code: '500', message: '', value: '' } : ok))
    const { transport, payloadOf, deps } = connect(url, { receipt_registered: true })
    const payload = payloadOf({ showEnd: sampleNow + 5400 }, 7001, { callbackUrl })
    expect(await outcomesOf(transport, payload, tokens(1))).toEqual([{ kind: 'accepted' }])
    expect(calls).toHaveLength(2)
    expect(calls[1]!.form.get('messageJson')).toBe(calls[0]!.form.get('messageJson'))
    for (const part of ['receipts', 'timed display'])
      expect(deps.holds.find(`without ${part}`)).toBeUndefined()
  })

  it('sends without timed display when Meizu refuses it, with its receipts', async () => {
    const { url, calls } = await pretend((_path, form) =>
      form.get('messageJson')!.includes('fixDisplay') ? { code: '1005', message: '', value: '' } : ok,
    )
    const { transport, payloadOf, deps } = connect(url, { receipt_registered: true })
    const payload = payloadOf({ showEnd: sampleNow + 5400 }, 7001, { callbackUrl })
    expect(await outcomesOf(transport, payload, tokens(1))).toEqual([{ kind: 'accepted' }])
    expect(calls).toHaveLength(2)
    expect(JSON.parse(calls[1]!.form.get('messageJson')!)).toMatchObject({
      advanceInfo: { notifyKey: expect.any(String) },
      extra: { callback: callbackUrl },
    })
    expect(deps.holds.find('without timed display')).toBeDefined()
    expect(deps.holds.find('without receipts')).toBeUndefined()
  })

  it('sends without a picture that Meizu hosts but refuses, and tries it for the next task', async () => {
    const { url, calls } = await pretend((path, form) =>
      path.endsWith('/uploadImg')
        ? { ...ok, value: { imgType: 1, imgUrl: 'https://meizu.example/1.png' } }
        : form.get('messageJson')!.includes('noticeExpandImgUrl')
          ? { code: '1005', message: '', value: '' }
          : ok,
    )
    const { transport, payloadOf } = connect(url, { vip: true })
    const image = { type: 'image', attachmentUrl: 'https://example.com/p.png' } as const
    for (const taskId of [7001, 7002])
      expect(await outcomesOf(transport, payloadOf(image, taskId), tokens(1))).toEqual([{ kind: 'accepted' }])
    expect(calls.filter(({ form }) => form.get('messageJson')?.includes('ImgUrl'))).toHaveLength(2)
  })

  it('reports the refusal when nothing more can be left out', async () => {
    const { url, calls } = await pretend(() => ({ code: '1005', message: '', value: '' }))
    const { transport, payloadOf, deps } = connect(url, { receipt_registered: true })
    const payload = payloadOf({}, 7001, { callbackUrl })
    expect(await outcomesOf(transport, payload, tokens(1))).toMatchObject([{ kind: 'rejected' }])
    expect(calls).toHaveLength(2)
    expect(deps.holds.find('without receipts')).toBeUndefined()
  })

  it('halves a call that is too large, and sends to each device once', async () => {
    const simulator = await simulate()
    simulator.setFaults({ maxBodyBytes: 1500 })
    const { transport, payloadOf } = connect(simulator.url)
    const outcomes = await outcomesOf(transport, payloadOf(), tokens(100))
    expect(new Set(outcomes.map(({ kind }) => kind))).toEqual(new Set(['accepted']))
    expect(simulator.ledger(7001)).toEqual({ accepted: 100, distinct: 100, duplicates: 0 })
    simulator.setFaults({ maxBodyBytes: 10 })
    const before = simulator.requests()
    expect(await outcomesOf(transport, payloadOf(), tokens(100))).toEqual(
      tokens(100).map(() => ({ kind: 'rejected', reason: { code: 'flyme.http_413', text: 'HTTP 413' } })),
    )
    // 100, 50, 25, 13, 7, 4, 2 and 1 tokens: what is too large for one is too large for the others.
    expect(simulator.requests() - before).toBe(8)
  })

  it('sends texts of emoji to a Meizu that counts UTF-16 units', async () => {
    const simulator = await simulate()
    simulator.setFaults({ rules: ['utf16_limits'] })
    const { transport, payloadOf } = connect(simulator.url)
    const emoji = payloadOf({ title: '😀'.repeat(40), body: '😀'.repeat(120) })
    expect(await outcomesOf(transport, emoji, tokens(1))).toEqual([{ kind: 'accepted' }])
  })

  it('does not call again on the day on which the quota was used up, in no process', async () => {
    let now = Date.parse('2025-10-09T16:00:00+08:00')
    const { url, calls } = await pretend(() => ({ code: '110019', message: '', value: '' }))
    const one = connect(url, {}, { now: () => now })
    const other = connect(url, {}, { now: () => now, holds: one.deps.holds })
    for (const time of ['16:00:00', '16:01:30', '23:59:59']) {
      now = Date.parse(`2025-10-09T${time}+08:00`)
      for (const { transport, payloadOf } of [one, other])
        expect(await outcomesOf(transport, payloadOf(), tokens(2))).toMatchObject([
          { kind: 'quota' },
          { kind: 'quota' },
        ])
    }
    expect(calls).toHaveLength(1)
    now = Date.parse('2025-10-10T00:00:00+08:00')
    await outcomesOf(other.transport, other.payloadOf(), tokens(1))
    expect(calls).toHaveLength(2)
  })

  it('checks the credentials, and takes nothing but Meizu’s own words for a refusal', async () => {
    const simulator = await simulate()
    const { transport } = connect(simulator.url)
    const check = () => transport.check(new AbortController().signal)
    expect(await check()).toEqual({ ok: true })
    simulator.setFaults({ refuseAuth: true })
    expect(await check()).toMatchObject({ ok: false, temporary: false })
    for (const faults of [{ htmlForbidden: 1 }, { unavailable: 1 }, { reply: { status: 401 } }]) {
      simulator.setFaults(faults)
      expect(await check()).toMatchObject({ ok: false, temporary: true })
    }
  })

  it('makes no call without recipients', async () => {
    const { url, calls } = await pretend(() => ok)
    const { transport, payloadOf } = connect(url)
    expect(await outcomesOf(transport, payloadOf(), [])).toEqual([])
    expect(calls).toEqual([])
  })

  it('reports a blacklisted application as misconfigured', async () => {
    const simulator = await simulate()
    simulator.forceCode('110009')
    const { transport, payloadOf } = connect(simulator.url)
    expect(await outcomesOf(transport, payloadOf(), tokens(1))).toEqual([
      { kind: 'misconfigured', reason: { code: 'flyme.110009', text: 'the app is on the blacklist' } },
    ])
  })
})
