import { type NewTask, objectNames } from '@herald/domain'
import { until } from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Answer, notifyBothWays, openTestApi, type TestApi } from './harness.ts'

let api: TestApi
let accepted: NewTask[] = []
/** Accepting waits for it. */
let database = Promise.resolve()

beforeAll(async () => {
  api = await openTestApi({
    overrides: {
      acceptor: {
        async accept(task) {
          accepted.push(task)
          await database
          return { taskId: 4711, fresh: true }
        },
        async close() {},
      },
    },
  })
})
afterAll(() => api.close())

const send = (body: unknown) => notifyBothWays(api, { body })
const sendText = (raw: string) =>
  notifyBothWays(api, { raw, headers: { 'content-type': 'application/json' } })

/** The task of a request that must be accepted. */
async function taskOf(body: object): Promise<NewTask> {
  accepted = []
  const answer = await send(body)
  expect(answer).toMatchObject({ code: 200, data: { task_id: 4711 } })
  return accepted[0]!
}
const messageOf = async (message: object) => (await taskOf({ audience: 'all', message })).message
const blanks = [undefined, null, '', ' \t\n ', [], {}]
const title = { title: 'x' }
const future = Math.floor(Date.now() / 1000) + 3600
const intent = 'intent:#Intent;component=com.a/com.a.Main;S.k=v;end'

describe('audience', () => {
  const all: [unknown, NewTask['audience']][] = [
    ['all', { kind: 'all' }],
    [{ tag: ['a', 'b', 'a'] }, { kind: 'tag', tags: ['a', 'b', 'a'] }],
    [{ alias: ['x', ''] }, { kind: 'alias', aliases: ['x'] }],
    [{ user_id: [1, '2'] }, { kind: 'user_id', userIds: [1n, 2n] }],
    [{ push_token: ['t'] }, { kind: 'push_token', pushTokens: ['t'] }],
    [
      { tag: ['a'], alias: [], user_id: null, push_token: '' },
      { kind: 'tag', tags: ['a'] },
    ],
    [{ tag: Array(500).fill('t') }, { kind: 'tag', tags: Array(500).fill('t') }],
  ]
  it.each(all)('%j is taken', async (audience, expected) => {
    expect((await taskOf({ audience, message: title })).audience).toEqual(expected)
  })

  it('keeps user ids beyond 2^53 exact', async () => {
    accepted = []
    await sendText(
      '{"audience":{"user_id":[9007199254740993,"9223372036854775807"]},"message":{"title":"x"}}',
    )
    expect(accepted[0]?.audience).toEqual({
      kind: 'user_id',
      userIds: [9007199254740993n, 9223372036854775807n],
    })
  })

  const wrong: [unknown, number, string][] = [
    ...blanks.map((blank): [unknown, number, string] => [blank, 40003, 'audience must not be blank.']),
    [
      'ALL',
      40003,
      'audience must be the string all or an object with one of tag, alias, user_id, push_token or activity.',
    ],
    ['everyone', 40003, 'audience must be the string all'],
    [5, 40003, 'audience must be the string all'],
    [true, 40003, 'audience must be the string all'],
    [['all'], 40003, 'audience must be the string all'],
    [{ tag: [], alias: null }, 40003, 'audience must have exactly one non-blank key'],
    [{ tag: [''] }, 40003, 'audience must have exactly one non-blank key'],
    [{ tag: ['a'], alias: ['b'] }, 40003, 'audience must have exactly one non-blank key'],
    [{ tag: Array(501).fill('t') }, 40003, 'audience must have at most 500 items in tag.'],
    [{ user_id: Array(501).fill(1) }, 40003, 'audience must have at most 500 items in user_id.'],
    [{ tags: ['a'] }, 40001, 'tags is not a field of audience.'],
    [{ tag: ['a'], tags: [] }, 40001, 'tags is not a field of audience.'],
    [{ tag: 'a' }, 40002, 'audience.tag must be a list.'],
    [{ alias: { a: 1 } }, 40002, 'audience.alias must be a list.'],
    [{ tag: ['a', 5] }, 40002, 'audience.tag[1] must be a string.'],
    [{ push_token: [null] }, 40002, 'audience.push_token[0] must be a string.'],
    [{ user_id: [1, 'x'] }, 40002, 'audience.user_id[1] must be a 64-bit integer.'],
    [{ user_id: [1.5] }, 40002, 'audience.user_id[0] must be a 64-bit integer.'],
    [{ user_id: ['9223372036854775808'] }, 40002, 'audience.user_id[0] must be a 64-bit integer.'],
  ]
  it.each(wrong)('%j is refused with %d', async (audience, code, message) => {
    const answer = await send({ audience, message: title })
    expect(answer).toMatchObject({ code, status: 400 })
    expect(answer.message).toContain(message)
  })
})

describe('setting', () => {
  it('has defaults that every blank selects', async () => {
    const names = [
      'request_id',
      'distribution_strategy',
      'ospush_sequence',
      'speed',
      'priority',
      'ttl',
      'message_class',
    ]
    for (const blank of blanks) {
      for (const setting of [blank, Object.fromEntries(names.map((name) => [name, blank]))]) {
        expect(await taskOf({ audience: 'all', message: title, setting })).toMatchObject({
          requestId: undefined,
          strategy: 'combined',
          sequence: ['ups', 'fcm'],
          speed: undefined,
          lane: undefined,
          ttl: 86_400,
          messageClass: undefined,
        })
      }
    }
  })

  const good: [object, Partial<NewTask>][] = [
    [{ request_id: 'r' }, { requestId: 'r' }],
    [{ request_id: '😀'.repeat(128) }, { requestId: '😀'.repeat(128) }],
    [{ distribution_strategy: 'nativepush_only' }, { strategy: 'nativepush_only' }],
    [{ distribution_strategy: 'ospush_only' }, { strategy: 'ospush_only' }],
    [{ distribution_strategy: 'combined' }, { strategy: 'combined' }],
    [
      { ospush_sequence: ['honor', 'fcm', 'huawei', 'xiaomi', 'oppo', 'vivo', 'meizu', 'ups', 'ups'] },
      { sequence: ['honor', 'fcm', 'huawei', 'xiaomi', 'oppo', 'vivo', 'meizu', 'ups', 'ups'] },
    ],
    [{ speed: 1 }, { speed: 1 }],
    [{ priority: 'high' }, { lane: 'high' }],
    [{ priority: 'normal' }, { lane: 'normal' }],
    [{ ttl: 0 }, { ttl: 0 }],
    [{ ttl: 2_592_000 }, { ttl: 2_592_000 }],
    [{ message_class: 'service' }, { messageClass: 'service' }],
  ]
  it.each(good)('%j is taken', async (setting, expected) => {
    expect(await taskOf({ audience: 'all', message: title, setting })).toMatchObject(expected)
  })

  const wrong: [unknown, number, string][] = [
    ['x', 40002, 'setting must be an object.'],
    [[1], 40002, 'setting must be an object.'],
    [{ requestId: 'x' }, 40001, 'requestId is not a field of setting.'],
    [{ request_id: 5 }, 40002, 'setting.request_id must be a string.'],
    [{ request_id: 'x'.repeat(129) }, 40002, 'setting.request_id must have at most 128 characters.'],
    [
      { distribution_strategy: 'both' },
      40002,
      'setting.distribution_strategy must be one of combined, nativepush_only, ospush_only.',
    ],
    [{ ospush_sequence: 'ups' }, 40002, 'setting.ospush_sequence must be a list.'],
    [{ ospush_sequence: ['ups', 'apns'] }, 40002, 'setting.ospush_sequence[1] must be one of ups,'],
    [{ ospush_sequence: ['flyme'] }, 40002, 'setting.ospush_sequence[0] must be one of'],
    [{ speed: 0 }, 40002, 'setting.speed must be at least 1.'],
    [{ speed: '5' }, 40002, 'setting.speed must be an integer'],
    [{ priority: 'low' }, 40002, 'setting.priority must be one of high, normal.'],
    [{ ttl: -1 }, 40002, 'setting.ttl must be at least 0.'],
    [{ ttl: 2_592_001 }, 40002, 'setting.ttl must be at most 2592000.'],
    [{ ttl: 1.5 }, 40002, 'setting.ttl must be an integer'],
    [{ message_class: 'spam' }, 40002, 'setting.message_class must be one of service, marketing.'],
  ]
  it.each(wrong)('%j is refused with %d', async (setting, code, message) => {
    const answer = await send({ audience: 'all', message: title, setting })
    expect(answer.code).toBe(code)
    expect(answer.message).toContain(message)
  })
})

const androids = objectNames.filter((name) => name !== 'ios')

describe('message', () => {
  it('has defaults that every blank selects', async () => {
    const names = [
      'type',
      'body',
      'attachment_url',
      'big_text',
      'badge',
      'ext',
      'show_begin_time',
      'show_end_time',
      'ios',
      ...androids,
    ]
    for (const blank of blanks) {
      const message = await messageOf({
        title: 'x',
        ...Object.fromEntries(names.map((name) => [name, blank])),
      })
      expect(JSON.parse(JSON.stringify(message))).toEqual({
        type: 'text',
        title: 'x',
        badge: { kind: 'add', count: 1 },
        ios: {},
        ...Object.fromEntries(androids.map((name) => [name, {}])),
      })
    }
    expect((await messageOf({ title: 'x', show_begin_time: 0, show_end_time: 0 })).showBegin).toBeUndefined()
  })

  const blankMessages: unknown[] = [
    ...blanks,
    { type: 'text' },
    { type: 'image' },
    { title: '', body: ' ', ext: {}, ios: { sound: '' }, huawei: { intent: null } },
    { show_begin_time: 0, show_end_time: '0' },
  ]
  it.each(blankMessages.map((message) => [message]))('%j is blank', async (message) => {
    expect(await send({ audience: 'all', message })).toMatchObject({
      code: 40004,
      message: 'message must not be blank.',
    })
  })

  const enough: object[] = [
    { type: 'cmd' },
    { badge: '0' },
    { ext: { a: null } },
    { ios: { content_available: false } },
    { vivo: { push_mode: 0 } },
    { android: { sound: 's' } },
    { show_begin_time: 1 },
  ]
  it.each(enough.map((message) => [message]))('%j is not', async (message) => {
    await messageOf(message)
  })

  const good: [object, object][] = [
    [
      { type: 'cmd', title: 't', body: 'b', big_text: 'g' },
      { type: 'cmd', title: 't', body: 'b', bigText: 'g' },
    ],
    [
      { type: 'image', attachment_url: 'https://a.example/x/Y.JPEG?size=1#f' },
      { type: 'image', attachmentUrl: 'https://a.example/x/Y.JPEG?size=1#f' },
    ],
    [{ attachment_url: 'http://a.example/film.mp4' }, { attachmentUrl: 'http://a.example/film.mp4' }],
    [{ badge: '5' }, { badge: { kind: 'set', count: 5 }, badgeNamed: true }],
    [{ badge: '+5' }, { badge: { kind: 'add', count: 5 }, badgeNamed: true }],
    [{ badge: '999999999' }, { badge: { kind: 'set', count: 999999999 } }],
    [
      { show_begin_time: future, show_end_time: String(future + 5), title: 'x' },
      { showBegin: future, showEnd: future + 5 },
    ],
    [
      {
        ios: {
          sound: 's',
          content_available: true,
          mutable_content: false,
          category: 'c',
          thread_id: 't',
          subtitle: 'u',
          apns_collapse_id: 'é'.repeat(32),
        },
      },
      {
        ios: {
          sound: 's',
          contentAvailable: true,
          mutableContent: false,
          category: 'c',
          threadId: 't',
          subtitle: 'u',
          apnsCollapseId: 'é'.repeat(32),
        },
      },
    ],
    ...androids.map((name): [object, object] => [
      { [name]: { sound: 's', channel_id: 'c', click_action: 'intent', intent } },
      { [name]: { sound: 's', channelId: 'c', clickAction: 'intent', intent } },
    ]),
    [{ android: { click_action: 'open_app' } }, { android: { clickAction: 'open_app' } }],
    ...androids.map((name): [object, object] => [
      { [name]: { click_action: 'url', url: 'myapp://orders/7' } },
      { [name]: { clickAction: 'url', url: 'myapp://orders/7' } },
    ]),
    [
      {
        click_action: 'url',
        url: 'https://a.example/7?x=1#top',
        collapse_key: 'é'.repeat(32),
        foreground: 'hide',
        urgent: true,
      },
      { url: 'https://a.example/7?x=1#top', collapseKey: 'é'.repeat(32), foreground: 'hide', urgent: true },
    ],
    [{ title: 'x', collapse_key: 'a', ios: { apns_collapse_id: 'b' } }, { collapseKey: 'a' }],
    [
      { huawei: { badge_class: 'b', category: 'IM', importance: 'HIGH', urgency: 'NORMAL' } },
      { huawei: { badgeClass: 'b', category: 'IM', importance: 'HIGH', urgency: 'NORMAL' } },
    ],
    [{ honor: { badge_class: 'b', importance: 'LOW' } }, { honor: { badgeClass: 'b', importance: 'LOW' } }],
    [
      { xiaomi: { template_id: 't', template_param: { a: 'b' } } },
      { xiaomi: { templateId: 't', templateParam: '{"a":"b"}' } },
    ],
    [{ xiaomi: { template_param: '{"a": "b"}' } }, { xiaomi: { templateParam: '{"a": "b"}' } }],
    [
      {
        oppo: {
          category: 'IM',
          notify_level: 16,
          private_msg_template_id: 'p',
          private_title_parameters: { a: '1' },
          private_content_parameters: '{}',
        },
      },
      {
        oppo: {
          category: 'IM',
          notifyLevel: 16,
          privateMsgTemplateId: 'p',
          privateTitleParameters: '{"a":"1"}',
          privateContentParameters: '{}',
        },
      },
    ],
    [
      { vivo: { push_mode: 1, classification: 1, category: 'IM' } },
      { vivo: { pushMode: 1, classification: 1, category: 'IM' } },
    ],
    [{ flyme: { notice_msg_type: 1 } }, { flyme: { noticeMsgType: 1 } }],
  ]
  it.each(good)('%j is taken', async (message, expected) => {
    expect(await messageOf(message)).toMatchObject(expected)
  })

  it('passes ext on unchanged, with the digits of numbers and the order of keys', async () => {
    const ext =
      '{"z":9007199254740993, "a":1.10,"e":1e400,"s":"\\u4f60","n":{"deep":[-0]},"__proto__":{"x":1}}'
    accepted = []
    await sendText(`{"audience":"all","message":{"title":"x","ext":${ext}}}`)
    expect(accepted[0]?.message.ext).toBe(ext)
    accepted = []
    await sendText(`{"message":{"ios":{"sound":"ext"},"ext":\n${ext} , "title":"x"},"audience":"all"}`)
    expect(accepted[0]?.message.ext).toBe(ext)
  })

  const wrong: [unknown, number, string][] = [
    ['text', 40002, 'message must be an object.'],
    [[{}], 40002, 'message must be an object.'],
    [{ titel: 'x' }, 40001, 'titel is not a field of message.'],
    [{ titel: '' }, 40001, 'titel is not a field of message.'],
    [{ type: 'video' }, 40002, 'message.type must be one of text, image, cmd.'],
    [{ title: 5 }, 40002, 'message.title must be a string.'],
    [{ body: true }, 40002, 'message.body must be a string.'],
    [{ big_text: ['x'] }, 40002, 'message.big_text must be a string.'],
    [{ type: 'image', title: 'x' }, 40002, 'message.attachment_url is required if type is image.'],
    [
      { type: 'image', attachment_url: 'https://a/x.gif' },
      40002,
      'message.attachment_url must end in .jpg, .jpeg or .png',
    ],
    [{ type: 'image', attachment_url: 'https://a/x?y=.png' }, 40002, 'message.attachment_url must end in'],
    [{ attachment_url: 'ftp://a/x.png' }, 40002, 'message.attachment_url must be a URL'],
    [{ type: 'image', attachment_url: '\u000e' }, 40002, 'message.attachment_url must be a URL'],
    [{ attachment_url: 'x.png' }, 40002, 'message.attachment_url must be a URL'],
    [{ attachment_url: 'http://[' }, 40002, 'message.attachment_url must be a URL'],
    [{ badge: 5 }, 40002, 'message.badge must be a string.'],
    [{ badge: '-1' }, 40002, 'message.badge must have 1 to 9 digits'],
    [{ badge: '+' }, 40002, 'message.badge must have 1 to 9 digits'],
    [{ badge: '1234567890' }, 40002, 'message.badge must have 1 to 9 digits'],
    [{ ext: 'x' }, 40002, 'message.ext must be an object.'],
    [{ ext: [1] }, 40002, 'message.ext must be an object.'],
    [{ title: 'x', show_begin_time: 'soon' }, 40002, 'message.show_begin_time must be a 64-bit integer.'],
    [{ title: 'x', show_begin_time: -5 }, 40002, 'message.show_begin_time must be a Unix time in seconds.'],
    [
      { title: 'x', show_end_time: Date.now() * 1000 },
      40002,
      'message.show_end_time must be a Unix time in seconds.',
    ],
    [{ title: 'x', show_end_time: 5 }, 40002, 'message.show_end_time must be in the future.'],
    [
      { title: 'x', show_begin_time: future, show_end_time: future },
      40002,
      'message.show_end_time must be after show_begin_time.',
    ],
    [{ ios: 'x' }, 40002, 'message.ios must be an object.'],
    [{ ios: { Sound: 'x' } }, 40001, 'Sound is not a field of message.ios.'],
    [{ ios: { channel_id: 'x' } }, 40001, 'channel_id is not a field of message.ios.'],
    [{ ios: { sound: 1 } }, 40002, 'message.ios.sound must be a string.'],
    [{ ios: { content_available: 'true' } }, 40002, 'message.ios.content_available must be true or false.'],
    [{ ios: { mutable_content: 1 } }, 40002, 'message.ios.mutable_content must be true or false.'],
    [
      { ios: { apns_collapse_id: 'é'.repeat(33) } },
      40002,
      'message.ios.apns_collapse_id must have at most 64 bytes.',
    ],
    ...androids.flatMap((name): [unknown, number, string][] => [
      [{ [name]: 5 }, 40002, `message.${name} must be an object.`],
      [{ [name]: { sounds: 'x' } }, 40001, `sounds is not a field of message.${name}.`],
      [{ [name]: { sound: 1 } }, 40002, `message.${name}.sound must be a string.`],
      [{ [name]: { channel_id: 1 } }, 40002, `message.${name}.channel_id must be a string.`],
      [
        { [name]: { click_action: 'link' } },
        40002,
        `message.${name}.click_action must be one of intent, open_app, url.`,
      ],
      [
        { [name]: { click_action: 'url' } },
        40002,
        `message.${name}.url must not be blank if click_action is url.`,
      ],
      [
        { [name]: { click_action: 'intent', intent, url: 'https://a.example' } },
        40002,
        `message.${name}.url requires click_action url, but click_action is intent.`,
      ],
      [{ [name]: { url: 'https://a.example' } }, 40002, `message.${name}.url requires click_action url.`],
      [
        { [name]: { click_action: 'intent', intent: ' ' } },
        40002,
        `message.${name}.intent must not be blank`,
      ],
      [
        { [name]: { intent: 'com.a/.Main' } },
        40002,
        `message.${name}.intent must begin with intent:#Intent;.`,
      ],
    ]),
    ...androids.flatMap((name): [unknown, number, string][] => [
      [
        { [name]: { click_action: 'url', url: 'https://a.example', intent } },
        40002,
        `message.${name}.intent cannot be set if click_action is url.`,
      ],
      [
        { type: 'cmd', [name]: { click_action: 'url', url: 'https://a.example' } },
        40002,
        `message.${name}.click_action cannot be url if type is cmd.`,
      ],
    ]),
    [{ click_action: 'intent' }, 40002, 'message.click_action must be one of open_app, url.'],
    [{ click_action: 'url', title: 'x' }, 40002, 'message.url must not be blank if click_action is url.'],
    [{ url: 'https://a.example', title: 'x' }, 40002, 'message.url requires click_action url.'],
    [
      { click_action: 'open_app', url: 'https://a.example' },
      40002,
      'message.url requires click_action url, but click_action is open_app.',
    ],
    [
      { type: 'cmd', click_action: 'url', url: 'https://a.example' },
      40002,
      'message.click_action cannot be set if type is cmd.',
    ],
    [{ type: 'cmd', foreground: 'hide' }, 40002, 'message.foreground cannot be set if type is cmd.'],
    ...[
      'http://a.example',
      'JavaScript:alert(1)',
      'file:///etc',
      'data:text/html,x',
      'content://a/b',
      'android-app://a/b',
    ].map((url): [unknown, number, string] => [
      { click_action: 'url', url },
      40002,
      `message.url must be an https:// address or a deep link of the app, not ${url.split(':')[0]!.toLowerCase()}:.`,
    ]),
    [{ click_action: 'url', url: 'java\tscript:x' }, 40002, 'message.url must not contain spaces'],
    [{ click_action: 'url', url: 'example.com/a' }, 40002, 'message.url must be an https:// address'],
    [
      { click_action: 'url', url: 'shop://a#Intent;component=a.b/a.b.C;end' },
      40002,
      'message.url must not contain #Intent;.',
    ],
    [{ click_action: 'url', url: 'https:a' }, 40002, 'message.url must have a host after https://.'],
    [{ collapse_key: 'é'.repeat(33) }, 40002, 'message.collapse_key must have at most 64 bytes.'],
    [
      { title: 'x', ios: { push_type: 'background' } },
      40002,
      'message.ios.push_type cannot be background if title is set.',
    ],
    [
      { title: 'x', ios: { critical: { volume: 1 }, interruption_level: 'passive' } },
      40002,
      'message.ios.critical cannot be set if ios.interruption_level is passive.',
    ],
    [
      { ios: { live_activity: { event: 'end' }, push_type: 'alert' } },
      40002,
      'message.ios.live_activity cannot be set if ios.push_type is alert.',
    ],
    [{ ios: { critical: { name: 'x' } } }, 40002, 'message.ios.critical.volume is required.'],
    [{ ios: { critical: { volume: '1' } } }, 40002, 'message.ios.critical.volume must be a number.'],
    [{ ios: { critical: { volume: 2 } } }, 40002, 'message.ios.critical.volume must be at most 1.'],
    [{ ios: { critical: { loud: true } } }, 40001, 'loud is not a field of message.ios.critical.'],
    [{ ios: { loc_key: 'k', loc_args: 'a' } }, 40002, 'message.ios.loc_args must be a list'],
    [{ fcm: { color: 'red' } }, 40002, 'message.fcm.color must be a color of the form #rrggbb.'],
    [{ foreground: 'no' }, 40002, 'message.foreground must be one of show, hide.'],
    [{ urgent: 'yes' }, 40002, 'message.urgent must be true or false.'],
    [{ fcm: { badge_class: 'x' } }, 40001, 'badge_class is not a field of message.fcm.'],
    [{ huawei: { importance: 'low' } }, 40002, 'message.huawei.importance must be one of LOW, NORMAL, HIGH.'],
    [{ huawei: { foreground_show: 'no' } }, 40002, 'message.huawei.foreground_show must be true or false.'],
    [
      { huawei: { harmony_push_type: 3 } },
      40002,
      'message.huawei.harmony_push_type must be 0, 1, 2, 6, 7 or 10.',
    ],
    [
      { body: 'x', huawei: { harmony_push_type: 7 } },
      40002,
      'message.huawei.harmony_push_type cannot be 7 (live view): a message does not have the fields that it needs.',
    ],
    [
      { type: 'cmd', huawei: { harmony_push_type: 0 } },
      40002,
      'message.huawei.harmony_push_type cannot be 0, which shows a notification, if type is cmd.',
    ],
    [
      { body: 'x', huawei: { harmony_push_type: 2, category: 'IM' } },
      40002,
      'message.huawei.harmony_push_type cannot be 2 (voice broadcast) if category is IM: it has the category PLAY_VOICE only.',
    ],
    [
      { body: 'x', huawei: { click_page: { page: 'a' } } },
      40001,
      'page is not a field of message.huawei.click_page.',
    ],
    [
      { body: 'x', huawei: { click_page: { ability: ' ', uri: '' } } },
      40002,
      'message.huawei.click_page must have ability or uri.',
    ],
    [{ huawei: { urgency: 'LOW' } }, 40002, 'message.huawei.urgency must be one of NORMAL, HIGH.'],
    [{ honor: { importance: 'HIGH' } }, 40002, 'message.honor.importance must be one of LOW, NORMAL.'],
    [
      { xiaomi: { template_param: '[1]' } },
      40002,
      'message.xiaomi.template_param must be an object or the JSON text of one.',
    ],
    [{ oppo: { notify_level: 3 } }, 40002, 'message.oppo.notify_level must be 1, 2 or 16.'],
    [
      { oppo: { private_title_parameters: 'x' } },
      40002,
      'message.oppo.private_title_parameters must be an object',
    ],
    [{ vivo: { push_mode: 2 } }, 40002, 'message.vivo.push_mode must be at most 1.'],
    [{ vivo: { push_mode: '1' } }, 40002, 'message.vivo.push_mode must be an integer'],
    [{ vivo: { classification: -1 } }, 40002, 'message.vivo.classification must be at least 0.'],
    [{ flyme: { notice_msg_type: 2 } }, 40002, 'message.flyme.notice_msg_type must be at most 1.'],
  ]
  it.each(wrong)('%j is refused with %d', async (message, code, sentence) => {
    const answer = await send({ audience: 'all', message })
    expect(answer.code).toBe(code)
    expect(answer.message).toContain(sentence)
  })

  it('reports an unknown field before other problems', async () => {
    expect((await send({ audience: '', message: { badge: 'x' }, settings: {} })).message).toBe(
      'settings is not a field of the body.',
    )
  })
})

describe('a body of notify', () => {
  it('may have one MiB', async () => {
    const base = { audience: 'all', message: { body: '' } }
    const room = 1024 * 1024 - JSON.stringify(base).length
    expect((await send({ ...base, message: { body: 'x'.repeat(room) } })).code).toBe(200)
    expect(await send({ ...base, message: { body: 'x'.repeat(room + 1) } })).toMatchObject({
      status: 413,
      code: 41301,
    })
  })
})

describe('large requests that wait for the database', () => {
  it('are bounded in bytes per application', async () => {
    const free = Promise.withResolvers<void>()
    database = free.promise
    const other = await api.createApplication('other')
    const body = JSON.stringify({ audience: 'all', message: { ext: { pad: 'x'.repeat(1_000_000) } } })
    const notify = (options: object = {}) =>
      api.call('/push/notify', { raw: body, headers: { 'content-type': 'application/json' }, ...options })
    accepted = []
    const many = Array.from({ length: 30 }, () => notify())
    const refused = await firstAnswers(many, 5)
    expect(refused.map(({ code, headers }) => [code, headers.get('retry-after')])).toEqual(
      Array(5).fill([42901, '1']),
    )
    const theirs = notify({ appId: other.appId, token: other.token })
    await until(() => accepted.length === 26, { what: 'the waiting requests' })
    free.resolve()
    expect((await theirs).code).toBe(200)
    const codes = (await Promise.all(many)).map(({ code }) => code)
    expect(codes.filter((code) => code === 200)).toHaveLength(25)
    expect((await notify()).code).toBe(200)
  })
})

/** The first `count` answers. */
async function firstAnswers(answers: Promise<Answer>[], count: number): Promise<Answer[]> {
  const found: Answer[] = []
  return new Promise((resolve) => {
    for (const answer of answers)
      answer.then((one) => {
        found.push(one)
        if (found.length === count) resolve(found)
      })
  })
}
