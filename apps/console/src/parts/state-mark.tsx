import type { CertificateView } from '@herald/client'
import type { ReactNode } from 'react'

export type Mood = 'good' | 'busy' | 'waiting' | 'bad' | 'over'

/** A state as a word with a coloured dot; the word alone says everything. */
export function StateMark({ mood, children }: { mood: Mood; children: ReactNode }) {
  return <span className={`mark mark-${mood}`}>{children}</span>
}

export function moodOfTask(state: string): Mood {
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

const certificateMoods: Record<CertificateView['state'], Mood> = {
  open: 'good',
  closed: 'bad',
  suspect: 'waiting',
}

export const moodOfCertificate = (state: CertificateView['state']): Mood => certificateMoods[state]
