import { type Message, type ObjectName, optionsOf, type VendorChannel, vendorChannels } from '@herald/domain'
import { loadDemo } from '@herald/simulators'
import { describe, expect, it } from '@jest/globals'
import { adapters } from '../src/all.ts'
import type { Card, MessageField, SharedField } from '../src/card.ts'
import { cards } from '../src/cards.ts'
import { isUnsupported } from '../src/channel.ts'
import { carryingWord, messageNotes } from '../src/message-notes.ts'
import { sampleCertificate, sampleTask } from './samples.ts'

type Fields = Partial<Message>

const intent = 'intent:#Intent;action=com.example.OPEN;component=com.example.app/com.example.app.Main;end'
const own = (object: string, fields: object): Fields => ({ android: fields, [object]: fields })

/** Forms of a message with the field; a vendor that carries it has another payload for one of them than without. */
const forms: Record<Exclude<SharedField, 'cmd'>, (object: string) => Fields[]> = {
  big_text: () => [{ bigText: 'A longer text' }],
  attachment_url: () => [{ type: 'image', attachmentUrl: 'https://cdn.example.com/a.png' }],
  badge: () => [
    { badge: { kind: 'set', count: 5 }, badgeNamed: true },
    { badge: { kind: 'add', count: 1 }, badgeNamed: true },
  ],
  sound: (object) => [own(object, { sound: 'ring.mp3' }), own(object, { sound: 'none' })],
  channel_id: (object) => [own(object, { channelId: 'orders' })],
  intent: () => [{ android: { clickAction: 'intent', intent } }],
  url: () => [{ url: 'https://shop.example.com/orders/7' }],
  collapse_key: () => [{ collapseKey: 'order-77' }],
  foreground: () => [{ foreground: 'hide' }],
  urgent: () => [
    { urgent: true },
    { urgent: true, type: 'cmd' },
    { urgent: true, ios: { pushType: 'complication' } },
  ],
}
const sharedFields = Object.keys(forms) as (keyof typeof forms)[]

const vendors = await Promise.all(
  vendorChannels.map(async (channel) => {
    const demo = await loadDemo(channel)
    const certificate = sampleCertificate(channel, demo.certificate(await demo.makeCredentials()))
    return [channel, certificate] as const
  }),
)
const cardNamed = (channel: VendorChannel): Card => cards.find(({ name }) => name === channel)!

/** The keys of `extra` that remarks of a card name. */
function optionIn(card: Card, field: SharedField): string {
  const carrying = card.carries[field]
  const [, key] = /`extra\.(\w+)`/.exec(typeof carrying === 'string' ? '' : carrying.remark.en) ?? []
  if (!key) throw new Error(`The remark of ${field} on the card of ${card.name} names no key of extra.`)
  return key
}

describe.each(vendors)('the card of %s', (channel, certificate) => {
  const card = cardNamed(channel)
  const adapter = adapters[channel]!
  const { object } = card.message
  const settingsWith = (extra: object = {}) =>
    adapter.readSettings({ ...certificate, extra: { ...certificate.extra, ...extra } })
  // Some vendors show a badge only with the class of the launcher's icon.
  const base = { huawei: { badgeClass: 'com.example.Main' }, honor: { badgeClass: 'com.example.Main' } }
  const taskWith = (fields: Fields) => sampleTask({ ...base, ...merged(base, fields) })
  const payload = (fields: Fields, settings: unknown) => adapter.mapPayload(taskWith(fields), settings)
  const notes = (fields: Fields, settings: unknown) => messageNotes(adapter, taskWith(fields), settings)
  const without = ({ urgent, ...rest }: Fields): Fields => (urgent ? rest : {})
  const changes = (form: Fields, settings: unknown) =>
    JSON.stringify(payload(form, settings)) !== JSON.stringify(payload(without(form), settings))
  const isSaid = (form: Fields, settings: unknown) =>
    notes(form, settings).length > notes(without(form), settings).length

  it.each(sharedFields)('tells the truth about %s', (field) => {
    const list = forms[field](object)
    const plain = settingsWith()
    const word = carryingWord(card, field)
    // The runner gives the number to the transport, for each device.
    if (field === 'badge' && card.absoluteBadge) return expect(word).toBe('yes')
    switch (word) {
      case 'yes':
        return expect(list.some((form) => changes(form, plain))).toBe(true)
      case 'app':
        expect(list.some((form) => changes(form, plain))).toBe(true)
        return expect(list.some((form) => isSaid(form, plain))).toBe(true)
      case 'certificate': {
        const option = optionIn(card, field)
        const [opened, closed] = [settingsWith({ [option]: true }), settingsWith({ [option]: false })]
        const differs = list.some(
          (form) => JSON.stringify(payload(form, opened)) !== JSON.stringify(payload(form, closed)),
        )
        expect(differs).toBe(true)
        return expect(list.some((form) => isSaid(form, closed))).toBe(true)
      }
      case 'no':
        expect(list.filter((form) => changes(form, plain))).toEqual([])
        // Fields of `android` are not meant for a vendor that has none of them.
        if (card.message.android || !(field === 'channel_id' || field === 'intent'))
          expect(list.some((form) => isSaid(form, plain))).toBe(true)
    }
  })

  it('sends the channel_id of `android`, or says that it does not', () => {
    if (!card.message.android) return
    const [form, settings] = [{ android: { channelId: 'orders' } }, settingsWith()]
    expect(isSaid(form, settings)).toBe(!changes(form, settings))
  })

  it('tells the truth about cmd', () => {
    const canCarry = (settings: unknown) => !isUnsupported(payload({ type: 'cmd' }, settings))
    const word = carryingWord(card, 'cmd')
    if (word !== 'certificate') return expect(canCarry(settingsWith())).toBe(word === 'yes')
    const option = optionIn(card, 'cmd')
    expect(canCarry(settingsWith({ [option]: false }))).toBe(false)
    expect(canCarry(settingsWith({ [option]: true }))).toBe(true)
  })

  it('cuts nothing of a command: it is sent whole or not at all', () => {
    const word = carryingWord(card, 'cmd')
    if (word === 'no') return
    const settings = settingsWith(word === 'certificate' ? { [optionIn(card, 'cmd')]: true } : {})
    const parts = (length: number) => ({
      title: 'T'.repeat(length),
      body: 'B'.repeat(length),
      bigText: 'L'.repeat(length),
      attachmentUrl: `https://cdn.example.com/${'p'.repeat(length)}.png`,
    })
    const isSent = (length: number) => {
      const made = payload({ type: 'cmd', ...parts(length), ext: '{"order":7}' }, settings)
      if (isUnsupported(made)) return false
      const versions = (adapter.versionsOf?.(made) ?? [made]).filter((version) => !isUnsupported(version))
      for (const text of versions.map((version) => JSON.stringify(version)))
        for (const part of Object.values(parts(length))) expect(text).toContain(part)
      return true
    }
    expect(isSent(100)).toBe(true)
    for (let length = 200; length < 5000; length += 100) isSent(length)
    expect(isSent(5000)).toBe(false)
  })

  it('has no field in its object that changes nothing', () => {
    const fields = Object.entries(card.message.fields)
    const settings = settingsWith()
    const text = (type: Message['type'], given: object) => {
      const attachmentUrl = type === 'image' ? 'https://cdn.example.com/a.png' : undefined
      const own = { [object]: optionsOf(object as ObjectName, given) }
      return JSON.stringify(adapter.mapPayload(sampleTask({ type, attachmentUrl, ...own }), settings))
    }
    // Some fields work only beside another one, or only in one type of message.
    const others = [
      {},
      ...fields.flatMap(([name, field]) => valuesOf(field).map((value) => ({ [name]: value }))),
    ]
    const changesNothing = fields.filter(([name, field]) =>
      valuesOf(field).every((value) =>
        others.every((other) =>
          (['text', 'image', 'cmd'] as const).every(
            (type) => name in other || text(type, other) === text(type, { ...other, [name]: value }),
          ),
        ),
      ),
    )
    expect(changesNothing.map(([name]) => name)).toEqual([])
  })

  it('finds room for every notification, and explain says what was cut or left out', () => {
    const settings = settingsWith()
    const roomNotes = (fields: Fields) => {
      expect(payload(fields, settings)).not.toHaveProperty('unsupported')
      return notes(fields, settings).flatMap((note) => / has no room for (.*)\.$/.exec(note)?.[1] ?? [])
    }
    const extOf = (length: number) => JSON.stringify({ data: 'E'.repeat(length) })
    const long = { title: 'T'.repeat(5000), body: 'B'.repeat(5000) }
    expect(roomNotes({ ext: '{"order":7}', url: 'https://shop.example.com/7' })).toEqual([])
    expect(roomNotes(long)).toEqual(['all of body: it is cut', 'all of title: it is cut'])
    expect(roomNotes({ ext: extOf(9000) })).toEqual(['ext: it is left out'])
    const fitting = Array.from({ length: 90 }, (_, i) => extOf(i * 100)).findLast(
      (ext) => roomNotes({ ext }).length === 0,
    )
    const picture: Fields = {
      type: 'image',
      attachmentUrl: `https://cdn.example.com/${'p'.repeat(2000)}.png`,
    }
    expect(roomNotes({ ...picture, ext: fitting })).toEqual(['attachment_url: it is left out'])
    expect(notes({ ...picture, ext: fitting }, settings)).not.toContainEqual(
      expect.stringContaining('the app gets the address'),
    )
  })
})

/** Values that the field accepts, as they are stored. */
function valuesOf(field: MessageField): unknown[] {
  switch (field.type) {
    case 'choice':
      return [...field.choices]
    case 'flag':
      return [true, false]
    case 'number':
      return [field.min, field.max]
    case 'list':
      return [['one']]
    case 'object':
      return ['{"a":"b"}']
    case 'record': {
      const parts = Object.entries(field.fields)
      const whole = (pick: 0 | -1) => parts.map(([name, part]) => [name, valuesOf(part).at(pick)])
      return [Object.fromEntries(whole(0)), Object.fromEntries(whole(-1))]
    }
    case 'text':
      return ['sample', '#112233'].filter(
        (value) => !field.matches || new RegExp(`^(?:${field.matches.pattern})$`).test(value),
      )
  }
}

/** The vendor's objects of both. */
function merged(base: Record<string, object>, fields: Fields): Fields {
  const given = fields as Record<string, object>
  return {
    ...fields,
    ...Object.fromEntries(Object.keys(base).map((name) => [name, { ...base[name], ...given[name] }])),
  }
}
