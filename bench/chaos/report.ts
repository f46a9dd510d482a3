import type { DrillReport } from './drill.ts'
import type { Fairness } from './fairness.ts'
import type { Fault } from './schedule.ts'

/** The last line of the output. */
export function summaryOf(report: DrillReport) {
  const { options, seconds, faults, tasks, deliveries, lost, unbalanced, duplicates, duplicatesBound } =
    report
  const { fairness, certificates, leftOut, events } = report
  return {
    seconds,
    seed: options.seed,
    queue: options.queue,
    faults: faults.length,
    tasks,
    deliveries,
    lost: lost.length,
    unbalanced: unbalanced.length,
    duplicates,
    duplicates_bound: duplicatesBound,
    fairness: fairness && {
      p95_ms: Math.round(fairness.p95),
      broadcast_share: Number(fairness.broadcastShare.toFixed(2)),
      judged: fairness.isJudged,
    },
    events: events.entries,
    certificates_open: certificates.areOpen,
    left_out: leftOut,
  }
}

export function isGood({ lost, unbalanced, broken }: DrillReport): boolean {
  return lost.length + unbalanced.length + broken.length === 0
}

const figure = (value: number) => value.toLocaleString('en')

/** Returns the run as a section of Markdown. */
export function writeReport(report: DrillReport): string {
  const { options, bound, resources, latencies } = report
  const { before, after } = resources
  const rows: [string, string][] = [
    ['load', `${report.seconds} s, then ${report.endedAfter} s until all tasks had ended`],
    ['tasks accepted', figure(report.tasks)],
    [
      'device deliveries',
      `${figure(report.deliveries)} (${figure(Math.round(report.deliveries / report.seconds))} per second)`,
    ],
    ['devices erased', figure(report.erased)],
    ['faults', `${report.faults.length}; ${report.restarts} process restarts`],
    ['tasks or devices lost', figure(report.lost.length)],
    [
      'balance samples',
      `${figure(report.samples)}, ${report.unbalanced.length} out of balance or different from the ledgers`,
    ],
    ['duplicates', `${figure(report.duplicates)}, bound ${figure(report.duplicatesBound)}`],
    [
      'parts of the bound',
      `${figure(bound.lostResponses)} with a lost vendor response, ${figure(bound.inFlight)} in flight in workers that were stopped or killed, ${figure(bound.lateAcknowledgements)} acknowledged too late`,
    ],
    [
      'events',
      `${figure(report.events.entries)} entries in ${figure(report.events.requests)} requests, of which ${figure(report.events.failed)} failed; ${figure(report.events.repeated)} entries came again`,
    ],
    ['certificates', describeCertificates(report)],
    ['fairness', report.fairness ? describeFairness(report.fairness) : 'not measured'],
    [
      'API calls',
      `p50 ${latencies.p50} ms, p95 ${latencies.p95} ms, p99 ${latencies.p99} ms, retries included`,
    ],
    [
      'temporary refusals',
      Object.entries(report.refusals)
        .map(([code, count]) => `${code}: ${count}`)
        .join(', ') || 'none',
    ],
    ['memory before → after, MB', beforeAfter(before.memory, after.memory)],
    ['file descriptors before → after', beforeAfter(before.descriptors, after.descriptors)],
    ['Postgres connections', `${before.postgres} before, ${after.postgres} after`],
    ['queue connections', `${before.queue} before, ${after.queue} after`],
  ]
  return [
    `### ${options.queue} queue, seed ${options.seed}`,
    '',
    '| figure | value |',
    '|---|---|',
    ...rows.map(([what, found]) => `| ${what} | ${found} |`),
    '',
    `Faults: ${countByKind(report)
      .map(([kind, count]) => `${count} × ${kind}`)
      .join(', ')}.${report.leftOut.map((sentence) => ` Left out: ${sentence}.`).join('')}`,
    '',
    ...[...report.lost, ...report.broken, ...report.unbalanced]
      .slice(0, 50)
      .map((sentence) => `- ${sentence}`),
  ].join('\n')
}

function describeCertificates({ certificates: { closed, breakers, areOpen } }: DrillReport): string {
  return `closed ${closed} times, breaker opened ${breakers} times; ${areOpen ? 'all open again without a person' : 'not all open at the end'}`
}

function describeFairness(fairness: Fairness): string {
  const {
    singles,
    p95,
    quietP95,
    acceptP95,
    broadcastShare,
    floodSent,
    floodAccepted,
    floodDelivered,
    othersCpu,
  } = fairness
  const others = othersCpu === undefined ? 'unknown' : `${Math.round(othersCpu * 100)} %`
  return [
    `flood: ${figure(Math.round(floodSent))} pushes per second sent, ${figure(Math.round(floodAccepted))} accepted, ${figure(Math.round(floodDelivered))} delivered`,
    `${singles} single pushes of another application: p95 ${Math.round(p95)} ms from the call to the vendor (${Math.round(quietP95)} ms without the flood), ${Math.round(acceptP95)} ms to the response`,
    `its broadcasts: ${broadcastShare.toFixed(2)} of an equal share`,
    `CPU time of other programs: ${others}${fairness.isJudged ? '' : ', so the limits do not apply'}`,
  ].join('; ')
}

function beforeAfter(before: Record<string, number>, after: Record<string, number>): string {
  return Object.keys(after)
    .map((role) => `${role} ${before[role]} → ${after[role]}`)
    .join(', ')
}

function countByKind({ faults }: DrillReport): [string, number][] {
  const kindOf = (fault: Fault) => (fault.kind === 'storm' ? `storm of ${fault.storm}` : fault.kind)
  return [...Map.groupBy(faults, kindOf)]
    .map(([kind, all]): [string, number] => [kind, all.length])
    .sort(([a], [b]) => (a < b ? -1 : 1))
}
