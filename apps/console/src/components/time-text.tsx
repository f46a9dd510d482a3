import { useSyncExternalStore } from 'react'
import { useTranslation } from 'react-i18next'
import { relativeTime } from '../calculations/relative-time.ts'
import { zoneText } from '../calculations/time-zone.ts'
import { useBasicLabels } from '../i18n/basic-labels.ts'

const TICK_MS = 10_000
const listeners = new Set<() => void>()
let now = Math.floor(Date.now() / 1000)
let timer: ReturnType<typeof setInterval> | undefined

/** One timer for all texts, only while there are some. */
function subscribe(listener: () => void): () => void {
  if (listeners.size === 0) {
    now = Math.floor(Date.now() / 1000)
    timer = setInterval(() => {
      now = Math.floor(Date.now() / 1000)
      for (const notify of listeners) notify()
    }, TICK_MS)
  }
  listeners.add(listener)
  return () => {
    listeners.delete(listener)
    if (listeners.size === 0) clearInterval(timer)
  }
}

/** The time in Unix seconds, renewed every ten seconds. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now)
}

/** `3 minutes ago` or `in 2 hours`; the time with its zone on hover. Nothing for null. */
export function TimeText({ at }: { at: number | null | undefined }) {
  const { i18n } = useTranslation()
  const { format } = useBasicLabels()
  const current = useNow()
  if (at === null || at === undefined) return null
  const relative = relativeTime(at, current)
  return (
    <time
      dateTime={new Date(at * 1000).toISOString()}
      title={`${format.time(at)} · ${zoneText(i18n.language, at * 1000)}`}
      className="nowrap"
    >
      {relative ? format.relative(relative) : format.day(at)}
    </time>
  )
}
