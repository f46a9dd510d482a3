import type { TaskView } from '@herald/client'
import { Progress } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { type BarPart, barOf } from '../calculations/task-progress.ts'
import { useLabels } from '../i18n/labels.ts'

export const barColors: Record<BarPart['kind'], string> = {
  sent: 'herald.6',
  failed: 'red.6',
  expired: 'orange.5',
  cancelled: 'gray.5',
  pending: 'transparent',
}

/** The results of the task's devices. Its label says what the colours show. */
export function TaskBar({ task, size }: { task: TaskView; size?: 'xl' }) {
  const { t } = useTranslation()
  const { format } = useLabels()
  const parts = barOf(task)
  const label =
    parts.length === 0
      ? t('task.barEmpty')
      : format.list(parts.map(({ kind, count }) => `${t(`counter.${kind}`)} ${format.number(count)}`))
  return (
    <Progress.Root
      size={size}
      role="img"
      aria-label={label}
      data-bar={parts.map(({ kind }) => kind).join(' ')}
    >
      {parts
        .filter(({ kind }) => kind !== 'pending')
        .map(({ kind, share }) => (
          <Progress.Section
            key={kind}
            value={share * 100}
            color={barColors[kind]}
            withAria={false}
            aria-hidden
          />
        ))}
    </Progress.Root>
  )
}
