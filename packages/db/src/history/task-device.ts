import { oldestTaskId } from '../store/all-days.ts'
import type { Database } from '../store/database.ts'
import { daysOf, inDays, runWithin } from '../store/days.ts'
import { timeOfTaskId } from '../store/partitions.ts'
import { inScopeSql, type TaskScope } from '../tasks/tasks.ts'
import { type DevicePath, foldPath } from './path.ts'
import { ms, readPlaces } from './places.ts'
import type { FoundDevice } from './recipients.ts'

/** The path of each device in a task; empty for one that is no recipient. Undefined if the task is unknown. */
export async function pathsInTask(
  db: Database,
  scope: TaskScope,
  taskId: number,
  devices: readonly FoundDevice[],
): Promise<(DevicePath & FoundDevice)[] | undefined> {
  const [task] = await runWithin<[beginAt: number]>(
    db.pool,
    daysOf([taskId]),
    'task-begin',
    `SELECT ${ms('begin_at')} FROM task
     WHERE id = $1 AND ${inDays('id')} AND ${inScopeSql('task', '$2', '$3')}`,
    [taskId, scope.appId, scope.groupId ?? null],
  )
  if (!task) return undefined
  const asked = devices.filter(({ since }) => since <= task[0])
  const found = await readPlaces(
    db,
    asked.map(({ deviceId }) => ({ taskId, deviceId })),
  )
  const byDevice = new Map(found.map((places) => [places.deviceId, places]))
  return devices.map((device) => {
    const places = byDevice.get(device.deviceId)
    return { ...device, ...foldPath(places?.places ?? [], places?.task ?? { paused: false }) }
  })
}

/** Whether a task with this id, which is unknown, may have been removed by retention: there is no older task. */
export async function isBeforeOldestTask(db: Database, taskId: number): Promise<boolean> {
  if (taskId <= 0 || timeOfTaskId(taskId) > Date.now()) return false
  return (await oldestTaskId(db)) > taskId
}
