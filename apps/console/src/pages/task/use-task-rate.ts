import type { TaskView } from '@herald/client'
import { useEffect, useState } from 'react'
import { addReading, hasEnded, type Reading, rateOf, readingOf } from '../../calculations/task-progress.ts'

/** Devices per second over the last readings of the page. `readAt` is the time of the reading in milliseconds. */
export function useTaskRate(task: TaskView, readAt: number): number | undefined {
  const [stored, setStored] = useState<{ id: unknown; readings: readonly Reading[] }>({
    id: task.task_id,
    readings: [],
  })
  useEffect(() => {
    setStored(({ id, readings }) => ({
      id: task.task_id,
      readings: addReading(id === task.task_id ? readings : [], readingOf(task, readAt / 1000)),
    }))
  }, [task, readAt])
  return hasEnded(task) || stored.id !== task.task_id ? undefined : rateOf(stored.readings)
}
