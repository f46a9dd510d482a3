import type { TaskSearch } from '@herald/client'
import { shownTaskStates } from '@herald/domain'

/** The filter of the task list, as it stands in the URL. Blank: not filtered. */
export type TaskFilter = {
  state: string
  campaign: string
  /** Text in the title. */
  title: string
  /** Days in the reader's time zone, as `2026-11-16`; both included. */
  from: string
  to: string
  /** Minimum number of devices. */
  min: string
  actor: string
  /** `1`: also pushes to single devices. */
  all: string
}

const filterNames = ['state', 'campaign', 'title', 'from', 'to', 'min', 'actor', 'all'] as const

const DAY = /^\d{4}-\d{2}-\d{2}$/

export function readFilter(params: URLSearchParams): TaskFilter {
  const filter = Object.fromEntries(filterNames.map((name) => [name, params.get(name) ?? ''])) as TaskFilter
  return {
    ...filter,
    state: shownTaskStates.find((known) => known === filter.state) ?? '',
    from: DAY.test(filter.from) ? filter.from : '',
    to: DAY.test(filter.to) ? filter.to : '',
    min: /^[1-9]\d{0,8}$/.test(filter.min) ? filter.min : '',
    all: filter.all === '1' ? '1' : '',
  }
}

/** The filter without blank entries, for the URL. */
export const filterParams = (filter: TaskFilter) =>
  Object.fromEntries(filterNames.flatMap((name) => (filter[name] === '' ? [] : [[name, filter[name]]])))

export const isFiltered = (filter: TaskFilter) =>
  filterNames.some((name) => name !== 'all' && filter[name] !== '')

/** Midnight of a day in the reader's time zone, `later` days after it; Unix seconds. */
function midnight(day: string, later: number): number {
  const [year, month, date] = day.split('-').map(Number)
  return new Date(year!, month! - 1, date! + later).getTime() / 1000
}

export function searchOf(filter: TaskFilter): TaskSearch {
  const { state, campaign, title, from, to, min, actor, all } = filter
  return {
    ...(state && { state }),
    ...(campaign && { campaign }),
    ...(title && { title }),
    ...(from && { from: midnight(from, 0) }),
    ...(to && { to: midnight(to, 1) }),
    ...(min && { min_target: Number(min) }),
    ...(actor && { actor }),
    ...(!all && { broadcasts: true }),
  }
}
