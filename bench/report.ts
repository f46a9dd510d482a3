import type { Metrics } from './metric.ts'

/** Which run found something. */
export type Stamp = { machine: string; date: string; commit: string; quick: boolean }

/** The content of bench/latest.json. The ratios of `--loaded` come from a run of their own. */
export type Report = Stamp & { loaded?: Stamp; metrics: Metrics }

const isRatio = (name: string) => /_loaded(_ratio)?$/.test(name)

/** The report after a run of all suites: the ratios of an earlier run with `--loaded` stay. */
export function withFigures(before: Report | undefined, stamp: Stamp, metrics: Metrics): Report {
  const kept = Object.entries(before?.metrics ?? {}).filter(([name]) => isRatio(name))
  return {
    ...stamp,
    ...(before?.loaded && { loaded: before.loaded }),
    metrics: { ...metrics, ...Object.fromEntries(kept) },
  }
}

/** The report after a run with `--loaded`: other figures stay. */
export function withRatios(before: Report | undefined, stamp: Stamp, ratios: Metrics): Report {
  const kept = Object.entries(before?.metrics ?? {}).filter(([name]) => !isRatio(name))
  return {
    ...stamp,
    ...(before && { machine: before.machine, date: before.date, commit: before.commit, quick: before.quick }),
    loaded: stamp,
    metrics: { ...Object.fromEntries(kept), ...ratios },
  }
}
