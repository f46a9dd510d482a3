/**
 * Every metric of ours, whichever program shows it. Dashboards, alerts and documents are checked against this list. Labels
 * are few and bounded: never a token, a device, a task, an application or a vendor's free text.
 */
export const counters = {
  herald_tasks_accepted_total: {
    help: 'Tasks that notify answered with 200; repeated = the request_id was used before, nothing is pushed.',
    labels: ['kind'],
  },
  herald_recipients_planned_total: {
    help: 'Recipients given to a channel when their task was planned; the inbox counts for nativepush.',
    labels: ['channel'],
  },
  herald_recipients_unreachable_total: {
    help: 'Devices of an audience that no channel could take.',
    labels: [],
  },
  herald_recipients_total: {
    help: 'Recipients by what became of them on a channel: sent, failed, moved, expired, cancelled.',
    labels: ['channel', 'fate'],
  },
  herald_received_total: {
    help: 'Receipts of vendors and devices, once per device and task.',
    labels: ['channel'],
  },
  herald_outcomes_total: {
    help: 'What attempts came to, by kind of outcome and the code the vendor gave.',
    labels: ['channel', 'outcome', 'code'],
  },
  herald_governor_held_total: {
    help: 'Recipients that had to wait for the governor: rate, quota or hours.',
    labels: ['channel', 'cause'],
  },
  herald_settle_retries_total: {
    help: 'Settles repeated because Postgres was away or busy; the send was not.',
    labels: ['channel'],
  },
  herald_leases_lost_total: {
    help: 'Batches whose lease was lost before their outcomes were written.',
    labels: ['channel'],
  },
  herald_jobs_failed_total: {
    help: 'Jobs that ended in an error; their batches come again when the lease ends.',
    labels: ['channel'],
  },
  herald_rounds_failed_total: {
    help: 'Rounds of the planner that failed and are repeated.',
    labels: ['cause'],
  },
  herald_callbacks_total: {
    help: 'Calls of vendors with receipts: read or refused.',
    labels: ['channel', 'result'],
  },
  herald_native_written_total: { help: 'Messages written to connections, repetitions included.', labels: [] },
  herald_native_acknowledged_total: {
    help: 'Acknowledgements of devices, repetitions included.',
    labels: [],
  },
  herald_native_closed_total: {
    help: 'Connections that the gateway ended, by close code.',
    labels: ['code'],
  },
} as const

export const gauges = {
  herald_native_connections: { help: 'Open connections of devices.', labels: [] },
  herald_queue_recipients: {
    help: 'Recipients in open batches: ready, later (not before its time), released, sending, paced, held. At least so many: the reading is bounded.',
    labels: ['channel', 'state'],
  },
  herald_queue_age_seconds: {
    help: 'How long the oldest batch that may be sent has been waiting to be taken by a worker.',
    labels: ['channel'],
  },
  herald_queue_jobs: { help: 'Jobs in the queue: waiting, active.', labels: ['channel', 'state'] },
  herald_tasks_open: {
    help: 'Tasks that are due, planning or sending; at most 10000 are counted.',
    labels: ['state'],
  },
  herald_planning_age_seconds: {
    help: 'How long the oldest due task has been waiting for a planner.',
    labels: [],
  },
  herald_certificates: {
    help: 'Certificates by state: open, closed, suspect.',
    labels: ['channel', 'state'],
  },
  herald_certificate_expiry_seconds: {
    help: 'Time until the next certificate of a channel expires.',
    labels: ['channel'],
  },
  herald_governor_permits: {
    help: 'Devices that may be sent to at once, over all certificates, as the last worker left them.',
    labels: ['channel', 'class'],
  },
  herald_governor_in_debt: {
    help: 'Certificates whose bucket is empty: their batches wait.',
    labels: ['channel', 'class'],
  },
  herald_governor_used_today: {
    help: 'Devices counted against daily quotas, each certificate on its present day.',
    labels: ['channel', 'class'],
  },
  herald_database_bytes: { help: 'Size of the database.', labels: [] },
  herald_dependency_up: { help: '1 = postgres or queue answered lately.', labels: ['dependency'] },
  herald_clock_offset_seconds: {
    help: 'Clock of this process minus clock of Postgres, to within the time of one question.',
    labels: [],
  },
  herald_postgres_connections: {
    help: 'Connections of the pool: busy, idle, and callers waiting for one.',
    labels: ['state'],
  },
} as const

export const histograms = {
  herald_http_seconds: {
    help: 'Duration of HTTP requests by path and status.',
    labels: ['path', 'status'],
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  },
  herald_notify_to_vendor_seconds: {
    help: 'From the accept of a task (or the time it was to begin at) to the first call for a batch, by the clock of Postgres.',
    labels: ['channel', 'lane'],
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800],
  },
  herald_vendor_call_seconds: {
    help: 'Duration of calls to the vendor; on channels with one request a device a call carries a batch.',
    labels: ['channel'],
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
  },
  herald_job_seconds: {
    help: 'Time from taking a job to the last commit of its batches.',
    labels: ['channel'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
  },
} as const

export const metricNames: readonly string[] = [
  ...Object.keys(counters),
  ...Object.keys(gauges),
  ...Object.keys(histograms),
]
