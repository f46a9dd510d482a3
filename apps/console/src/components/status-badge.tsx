import type { CertificateCondition } from '@herald/domain'
import type { ReactNode } from 'react'

export type Tone = 'good' | 'busy' | 'waiting' | 'bad' | 'over'

/** A state with a coloured dot. The colour adds nothing that the text does not say. */
export function StatusBadge({ tone, children }: { tone: Tone; children: ReactNode }) {
  return <span className={`mark mark-${tone}`}>{children}</span>
}

export function taskTone(state: string): Tone {
  switch (state) {
    case 'finished':
      return 'good'
    case 'paused':
    case 'scheduled':
    case 'inboxes':
    case 'nobody':
    case 'unreachable':
      return 'waiting'
    case 'cancelled':
    case 'cancelling':
      return 'over'
    default:
      return 'busy'
  }
}

export function fateTone(fate: string): Tone {
  switch (fate) {
    case 'sent':
      return 'good'
    case 'failed':
      return 'bad'
    case 'pending':
    case 'waiting':
    case 'held':
      return 'waiting'
    default:
      return 'over'
  }
}

const certificateTones: Record<CertificateCondition, Tone> = {
  sending: 'good',
  unchecked: 'waiting',
  partial: 'waiting',
  silent: 'bad',
  suspect: 'waiting',
  closed: 'bad',
}

export const certificateTone = (condition: CertificateCondition): Tone => certificateTones[condition]
