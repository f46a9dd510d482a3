import type { Text } from '@herald/channels/cards'
import { reasonKindOf } from '@herald/channels/reason-kinds'
import {
  type AuditAction,
  cardOf,
  type EventName,
  type OwnReasonName,
  ownReasons,
  publicName,
  vendorChannels,
} from '@herald/domain'
import { useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import { useBasicLabels } from './basic-labels.ts'
import { en } from './en.ts'
import { keyOf } from './key-of.ts'
import { noteIn } from './note-texts.ts'
import { partIn } from './part-texts.ts'
import { codeInText } from './reason-codes.ts'

const vendorTitles = new Map(vendorChannels.map((name) => [publicName(name), cardOf(name).title]))

/** `original` is set if the translation lacks details, or if there is none: reasons of vendors and of a newer API. */
export type ReasonLabel = {
  translated?: string
  /** What to do about a vendor's refusal. */
  advice?: string
  original?: string
}

/** Numbers, times, API values and errors in the current language. */
export function useLabels() {
  const { t, i18n } = useTranslation()
  const language = i18n.language
  const basics = useBasicLabels()
  return useMemo(() => {
    const labelOf =
      <Kind extends 'channel' | 'taskState' | 'fate' | 'platform'>(kind: Kind) =>
      // A value without a label, from a newer API, is shown as it is.
      (name: string) =>
        Object.hasOwn(en[kind], name) ? t(`${kind}.${name}` as 'channel.inbox') : name
    const text = ({ en, zh }: Text) => (language === 'zh' ? zh : en)
    const ownChannel = labelOf('channel')
    const channel = (name: string) => {
      const title = vendorTitles.get(name)
      return title ? text(title) : ownChannel(name)
    }
    const reason = (code: string | null, original: string): ReasonLabel => {
      const name = code?.startsWith('herald.') ? code.slice('herald.'.length) : ''
      if (!Object.hasOwn(en.reasonCode, name)) {
        // Herald's own, of a newer API.
        if (code === null || name !== '') return { original }
        const kind = reasonKindOf(code) ?? 'unknown'
        return { translated: t(`reasonKind.${kind}`), advice: t(`reasonAdvice.${kind}`), original }
      }
      const translated = t(`reasonCode.${name as OwnReasonName}`)
      return typeof ownReasons[name as OwnReasonName] === 'function'
        ? { translated, original }
        : { translated }
    }
    /** A channel's reason that was stored without its code. */
    const storedReason = (channelName: string, original: string): ReasonLabel => {
      const code = codeInText(channelName, original)
      if (code !== null) return reason(code, original)
      const translated = noteIn(language, original)
      return translated === undefined
        ? { original }
        : { translated: translated.charAt(0).toUpperCase() + translated.slice(1) }
    }
    /** Texts for the reader; names of a newer API are shown as they are. */
    const auditAction = (action: string) => {
      const key = keyOf(action as AuditAction)
      return Object.hasOwn(en.auditAction, key) ? t(`auditAction.${key}`) : action
    }
    const event = (name: string) => {
      const key = keyOf(name as EventName)
      return Object.hasOwn(en.event, key) ? t(`event.${key}`) : ''
    }
    return {
      ...basics,
      text,
      channel,
      reason,
      storedReason,
      part: (name: string) => partIn(language, name),
      auditAction,
      event,
      taskState: labelOf('taskState'),
      fate: labelOf('fate'),
      platform: labelOf('platform'),
    }
  }, [t, language, basics])
}
