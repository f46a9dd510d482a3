import type { CertificateView } from '@herald/client'
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
      return 'waiting'
    case 'cancelled':
    case 'cancelling':
      return 'over'
    default:
      return 'busy'
  }
}

const certificateTones: Record<CertificateView['state'], Tone> = {
  open: 'good',
  closed: 'bad',
  suspect: 'waiting',
}

export const certificateTone = (state: CertificateView['state']): Tone => certificateTones[state]
