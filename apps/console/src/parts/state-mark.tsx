import { Badge } from '@mantine/core'
import type { ReactNode } from 'react'

export type Mood = 'good' | 'busy' | 'waiting' | 'bad' | 'over'

const moods: Record<Mood, string> = {
  good: 'teal',
  busy: 'blue',
  waiting: 'yellow',
  bad: 'red',
  over: 'gray',
}

/** A state as a coloured word; the word alone says everything. */
export function StateMark({ mood, children }: { mood: Mood; children: ReactNode }) {
  return (
    <Badge className={`mark mark-${mood}`} color={moods[mood]} variant="light" radius="sm" tt="none">
      {children}
    </Badge>
  )
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
