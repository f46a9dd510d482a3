import type { Settlement } from '../src/tasks/index.ts'

type Batch = Pick<Settlement, 'taskId' | 'id' | 'version'>
export const settlementOf = ({ taskId, id, version }: Batch, change: Partial<Settlement>): Settlement => ({
  taskId,
  id,
  version,
  status: '',
  state: 'settled',
  sent: 0,
  failed: 0,
  moved: 0,
  expired: 0,
  cancelled: 0,
  fallback: [],
  inbox: [],
  clearInbox: [],
  reasons: [],
  whys: [],
  retire: [],
  answered: 0,
  gone: 0,
  ...change,
})
