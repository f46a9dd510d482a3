import { describe, expect, it } from '@jest/globals'
import type { ChannelCertificate, ChannelHealth, Session } from '../src/api/records.ts'
import { alertsOf, channelsByApplication } from '../src/calculations/alerts.ts'
import { formatIn } from '../src/calculations/format.ts'
import { relativeTime } from '../src/calculations/relative-time.ts'
import { zoneText } from '../src/calculations/time-zone.ts'
import { pathIn, placeOf, samePage } from '../src/session/application-path.ts'
import { selectedApplication } from '../src/session/selected-application.ts'

describe('the application in a path', () => {
  it('is taken off and put back', () => {
    expect(placeOf('/a/0f3a/tasks/7')).toEqual({ appId: '0f3a', path: '/tasks/7' })
    expect(placeOf('/a/0f3a')).toEqual({ appId: '0f3a', path: '/' })
    expect(placeOf('/applications')).toEqual({ appId: undefined, path: '/applications' })
    expect(placeOf('/a/%E0%A4%A/tasks').appId).toBe('%E0%A4%A')
    for (const path of ['/', '/tasks', '/device?guid=a%2Fb'])
      expect(placeOf(pathIn('a b', path).split('?')[0]!)).toEqual({ appId: 'a b', path: path.split('?')[0] })
    expect(pathIn(undefined, '/')).toBe('/all')
    expect(pathIn(undefined, '/audit')).toBe('/audit')
  })

  it('is replaced on the same page, or on the list of a record', () => {
    const page = (pathname: string) => samePage(placeOf(pathname))
    expect(page('/a/1/certificates')).toBe('/certificates')
    expect(page('/a/1/tasks/7')).toBe('/tasks')
    expect(page('/a/1/device')).toBe('/devices')
    expect(page('/all')).toBe('/')
    expect(page('/applications')).toBe('/')
  })
})

describe('the selected application', () => {
  const application = (app_id: string) => ({ app_id, name: app_id, package_name: '', created_at: 0 })
  const operator: Session = { role: 'operator', simulated: [] }
  const select = (pathname: string, remembered?: string, ids = ['one', 'two'], session = operator) =>
    selectedApplication({
      place: placeOf(pathname),
      session,
      applications: ids.map(application),
      remembered,
    })

  it('is the one in the path, whatever is remembered', () => {
    expect(select('/a/one/send', 'two')).toBe('one')
    expect(select('/a/gone/send', 'two')).toBeUndefined()
  })

  it('is the remembered one where the path has none', () => {
    expect(select('/applications', 'two')).toBe('two')
    expect(select('/tasks', 'gone')).toBeUndefined()
    expect(select('/tasks')).toBeUndefined()
    expect(select('/tasks', undefined, ['only'])).toBe('only')
    expect(select('/tasks', 'all', ['only'])).toBeUndefined()
  })

  it('is none on the pages of all applications, and always its own for an application', () => {
    expect(select('/all', 'two')).toBeUndefined()
    expect(select('/audit', 'two')).toBeUndefined()
    const own: Session = { role: 'application', app_id: 'mine', name: 'Mine', simulated: [] }
    expect(select('/a/one/send', 'two', [], own)).toBe('mine')
  })
})

describe('alerts', () => {
  const DAY = 86_400
  const certificate = (changes: Partial<ChannelCertificate> = {}): ChannelCertificate => ({
    id: 1,
    app_id: 'one',
    environment: 1,
    region: null,
    name: '',
    state: 'open',
    reason: null,
    expires_at: null,
    throttled: false,
    worked_at: 1,
    breaker: null,
    held: [],
    failing: false,
    ...changes,
  })
  const health = (channel: string, ...certificates: ChannelCertificate[]) =>
    ({ channel, certificates }) as ChannelHealth
  const breaker = { since: 0, retry_at: 0, code: '', reason: '' }
  const channels = [
    health(
      'apns',
      certificate({ expires_at: 20 * DAY }),
      certificate({ app_id: 'two', expires_at: 90 * DAY }),
    ),
    health('huawei', certificate({ state: 'closed', expires_at: 20 * DAY })),
    health('oppo', certificate({ breaker }), certificate({ app_id: 'two', breaker, environment: 0 })),
    health('vivo', certificate({ failing: true }), certificate({ failing: true, environment: 0 })),
    health('honor', certificate({ held: ['class service'] })),
    health('fcm', certificate({ expires_at: -1 })),
    health('xiaomi', certificate()),
  ]

  it('name the most urgent problem of each channel, the worst first', () => {
    expect(
      alertsOf({ channels }, 0).map(({ kind, channels }) => [
        kind,
        channels.map(({ channel, appId }) => `${channel} ${appId}`),
      ]),
    ).toEqual([
      ['closed', ['huawei one']],
      ['expired', ['fcm one']],
      ['silent', ['oppo one', 'oppo two']],
      ['failing', ['vivo one']],
      ['held', ['honor one']],
      ['soon', ['apns one']],
    ])
    expect(alertsOf({ channels: [health('xiaomi', certificate())] }, 0)).toEqual([])
  })

  it('are counted by application', () => {
    expect([...channelsByApplication({ channels }, 0)]).toEqual([
      ['one', { total: 7, problems: 4 }],
      ['two', { total: 2, problems: 1 }],
    ])
  })
})

describe('a time', () => {
  it('is relative for a week, and now for clocks that differ a little', () => {
    const NOW = 1_000_000
    const text = (distance: number, language = 'en') => {
      const relative = relativeTime(NOW + distance, NOW)
      return relative && formatIn(language).relative(relative)
    }
    expect([0, 9, -30, -90, -7200, 7199, -86_400].map((distance) => text(distance))).toEqual([
      'now',
      'now',
      '30 seconds ago',
      '1 minute ago',
      '2 hours ago',
      'in 1 hour',
      'yesterday',
    ])
    expect(text(-120, 'zh')).toBe('2分钟前')
    expect(text(-7 * 86_400)).toBeUndefined()
  })

  it('has the zone of the reader', () => {
    const winter = Date.UTC(2026, 0, 1)
    expect(zoneText('en', winter, 'Asia/Shanghai')).toBe('Asia/Shanghai (GMT+8)')
    expect(zoneText('en', winter, 'America/New_York')).toBe('America/New_York (GMT-5)')
    expect(zoneText('en', Date.UTC(2026, 6, 1), 'America/New_York')).toBe('America/New_York (GMT-4)')
  })
})
