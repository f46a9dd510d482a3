import { describe, expect, it } from '@jest/globals'
import { card } from '../../src/apns/card.ts'

const update = { event: 'update', content_state: '{}' }
const start = {
  ...update,
  event: 'start',
  attributes_type: 'Order',
  attributes: '{}',
  alert: { title: 'a', body: 'b' },
}

type Case = [ios: object, message: object, field: string, named: string]
const refused: Case[] = [
  [{ push_type: 'background' }, { title: 'x' }, 'push_type', 'title'],
  [{ push_type: 'alert' }, { type: 'cmd' }, 'push_type', 'type is cmd'],
  [{ push_type: 'voip', sound: 'x' }, {}, 'sound', 'ios.push_type is voip'],
  [{ push_type: 'background', badge: 1, category: 'x' }, {}, 'category', 'ios.push_type is background'],
  [{ push_type: 'voip', content_available: true }, {}, 'content_available', 'ios.push_type is voip'],
  [{ live_activity: update, content_available: true }, {}, 'content_available', 'ios.live_activity'],
  [{ interruption_level: 'active' }, { type: 'cmd' }, 'interruption_level', 'type is cmd'],
  [{ push_type: 'liveactivity' }, {}, 'push_type', 'ios.live_activity'],
  [{ push_type: 'voip', live_activity: update }, {}, 'live_activity', 'ios.push_type is voip'],
  [{ live_activity: update }, { type: 'image' }, 'live_activity', 'type is image'],
  [{ live_activity: update }, { type: 'cmd' }, 'live_activity', 'type is cmd'],
  [{ live_activity: update }, { title: 'x' }, 'live_activity', 'title'],
  [{ live_activity: update, sound: 'x' }, {}, 'sound', 'ios.live_activity'],
  [{ live_activity: { event: 'update' } }, {}, 'live_activity', 'content_state'],
  [{ live_activity: { ...update, dismissal_date: 5 } }, {}, 'live_activity', 'dismissal_date'],
  [{ live_activity: { ...update, attributes: '{}' } }, {}, 'live_activity', 'attributes'],
  [{ live_activity: { ...update, alert: { title: 'x' } } }, {}, 'live_activity', 'title and body'],
  [{ live_activity: { ...start, alert: undefined } }, {}, 'live_activity', 'alert'],
  [{ live_activity: { ...start, attributes_type: undefined } }, {}, 'live_activity', 'attributes_type'],
  [{ priority: 10 }, { type: 'cmd' }, 'priority', 'type is cmd'],
  [{ push_type: 'voip', priority: 5 }, {}, 'priority', 'ios.push_type is voip'],
  [{ live_activity: update, priority: 1 }, {}, 'priority', 'ios.live_activity is set'],
  [{ priority: 5 }, { urgent: true }, 'priority', 'urgent'],
  [{ title_loc_args: ['x'] }, {}, 'title_loc_args', 'ios.title_loc_key'],
  [{ loc_args: ['x'] }, {}, 'loc_args', 'ios.loc_key'],
  [{ sound: 'x', critical: { name: 'y', volume: 1 } }, {}, 'sound', 'ios.critical.name'],
  [{ relevance_score: 50 }, {}, 'relevance_score', 'ios.live_activity'],
  [{ push_type: 'fileprovider' }, {}, 'push_type', 'ext.domain'],
  [{ push_type: 'fileprovider' }, { ext: { domain: ' ' } }, 'push_type', 'ext.domain'],
]

describe('combinations of ios fields', () => {
  it.each(refused)('%j with %j is refused: both fields are named', (ios, message, field, named) => {
    expect(card.message.check(ios as never, message as never)).toEqual({
      field,
      problem: expect.stringContaining(named),
    })
  })

  it.each<[object, object]>([
    [{ sound: 'x', category: 'y' }, { type: 'cmd' }],
    [
      { push_type: 'voip', priority: 10 },
      { type: 'cmd', urgent: true },
    ],
    [{ push_type: 'background', content_available: true }, { urgent: true }],
    [{ content_available: true }, { type: 'cmd' }],
    [{ live_activity: update, relevance_score: 75, priority: 5 }, {}],
    [{ live_activity: start }, { title: 'For other devices', body: 'x' }],
    [{ live_activity: { event: 'end', dismissal_date: 5 } }, {}],
    [{ push_type: 'fileprovider' }, { ext: { domain: 'd' } }],
    [{ sound: 'x', critical: { volume: 1 }, relevance_score: 1, priority: 1 }, {}],
  ])('%j with %j is accepted', (ios, message) => {
    expect(card.message.check(ios as never, message as never)).toBeUndefined()
  })
})
