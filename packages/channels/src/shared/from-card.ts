import type { MessageClass, VendorChannel } from '@herald/domain'
import type { Card, ClassField, CredentialField } from '../card.ts'
import type { Limits } from '../channel.ts'
import {
  type CommonExtra,
  categoryWord,
  type ExtraLimits,
  flag,
  idText,
  oneOf,
  type Read,
  type Reader,
  type Readers,
  readExtra,
  text,
  texts,
} from './extra.ts'

/** The keys of `extra` that the certificate form of a vendor has. */
type FormExtra<C extends Card> = {
  [F in C['credentials'][number]['fields'][number] as F['to'] extends `extra.${infer Key}`
    ? Key
    : never]?: FormValue<F>
}
type FormValue<F extends CredentialField> = F extends { kind: 'choice'; choices: readonly (infer Choice)[] }
  ? Choice
  : F extends { kind: 'flag' }
    ? boolean
    : F extends { kind: 'list' }
      ? string[]
      : string

/** One of `extra.classes`. */
export type ClassExtra<C extends Card> = {
  [Name in keyof C['classFields']]?: C['classFields'][Name] extends { choices: readonly (infer Choice)[] }
    ? Choice
    : string
}

/** Reads a certificate's `extra` by the vendor's card. `own` are keys without a field in the form, and other readers for those with one. */
export function readCardExtra<C extends Card, O extends Readers>(
  card: C,
  extra: Record<string, unknown>,
  own: O,
): FormExtra<C> & Read<O> & CommonExtra<ClassExtra<C>> {
  const fields: Readers = {}
  for (const { to, kind, choices = [] } of card.credentials.flatMap((form) => form.fields)) {
    if (to.startsWith('extra.')) fields[to.slice('extra.'.length)] = readerOf(kind, choices)
  }
  const classFields = Object.entries(card.classFields).map(
    ([name, field]) => [name, classReaderOf(field)] as const,
  )
  return readExtra(extra, { ...fields, ...own }, Object.fromEntries(classFields)) as FormExtra<C> &
    Read<O> &
    CommonExtra<ClassExtra<C>>
}

function readerOf(kind: CredentialField['kind'], choices: readonly (string | number)[]): Reader<unknown> {
  if (kind === 'choice') return oneOf(...choices)
  if (kind === 'flag') return flag
  return kind === 'list' ? texts : text
}

function classReaderOf(field: ClassField): Reader<string | number> {
  if (field.type === 'choice') return oneOf(...field.choices)
  return field.type === 'id' ? idText : categoryWord(field.maxLength, field.about.en)
}

/** The documented limits; `extra.limits` takes precedence. `isMarketing`: the vendor counts the message per device and day. */
export function limitsOf({ limits: documented }: Card, own: ExtraLimits, isMarketing: boolean): Limits {
  const perDevicePerDay = own.perDevicePerDay ?? documented.perDevicePerDay ?? 0
  return {
    ...own,
    perDevicePerDay: isMarketing && perDevicePerDay > 0 ? perDevicePerDay : undefined,
    requestsPerSecond: own.requestsPerSecond ?? documented.requestsPerSecond,
    devicesPerSecond: own.devicesPerSecond ?? documented.devicesPerSecond,
    timeZone: documented.timeZone,
  }
}

/** The members of an adapter that its card determines. */
export function fromCard(card: Card & { name: VendorChannel }) {
  return {
    name: card.name,
    tokensPerCall: card.limits.tokensPerCall,
    onePerDevice: card.limits.onePerDevice ?? false,
    absoluteBadge: card.absoluteBadge,
    // Vendors do not count test messages.
    limits: (settings: { limits: ExtraLimits; targetUserType?: 0 | 1 }, messageClass: MessageClass) =>
      limitsOf(card, settings.limits, messageClass === 'marketing' && settings.targetUserType !== 1),
    defaultClass: ({ defaultClass }: { defaultClass: MessageClass }) => defaultClass,
  }
}
