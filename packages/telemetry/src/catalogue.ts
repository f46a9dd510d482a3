/**
 * All metrics of all programs. Dashboards, alerts and documents are checked against this list. Labels are few and bounded:
 * never a token, device, task, application or free text of a vendor.
 */
export const counters = {
  herald_tasks_accepted_total: {
    help: 'Tasks accepted by notify with 200; repeated = the request_id was used before and nothing is pushed.',
    labels: ['kind'],
  },
  herald_recipients_planned_total: {
    help: 'Recipients assigned to a channel by planning; the inbox counts as nativepush.',
    labels: ['channel'],
  },
  herald_recipients_unreachable_total: {
    help: 'Devices of an audience without a usable channel.',
    labels: [],
  },
  herald_recipients_total: {
    help: 'Recipients by final state on a channel: sent, failed, moved, expired, cancelled.',
    labels: ['channel', 'fate'],
  },
  herald_received_total: {
    help: 'Receipts from vendors and devices, counted once per device and task.',
    labels: ['channel'],
  },
  herald_outcomes_total: {
    help: 'Outcomes of attempts, by kind and vendor code.',
    labels: ['channel', 'outcome', 'code'],
  },
  herald_governor_held_total: {
    help: 'Recipients deferred by the governor: rate, quota or hours.',
    labels: ['channel', 'cause'],
  },
  herald_settle_retries_total: {
    help: 'Settles repeated because Postgres was unreachable or busy; the send is not repeated.',
    labels: ['channel'],
  },
  herald_leases_lost_total: {
    help: 'Batches whose lease was lost before their outcomes were written.',
    labels: ['channel'],
  },
  herald_jobs_failed_total: {
    help: 'Jobs that ended with an error; their batches are retried when the lease expires.',
    labels: ['channel'],
  },
  herald_certificates_closed_total: {
    help: 'Certificates closed because the vendor refused their credentials, and a check confirmed it.',
    labels: ['channel'],
  },
  herald_certificates_reopened_total: {
    help: 'Closed certificates opened again: the vendor accepted a probe (herald), or a person checked or saved them (person).',
    labels: ['channel', 'by'],
  },
  herald_breakers_opened_total: {
    help: 'Breakers opened because the vendor did not answer the requests of a certificate.',
    labels: ['channel'],
  },
  herald_rounds_failed_total: {
    help: 'Failed rounds of the planner, which are repeated.',
    labels: ['cause'],
  },
  herald_callbacks_total: {
    help: 'Receipt callbacks from vendors: read or refused.',
    labels: ['channel', 'result'],
  },
  herald_events_total: {
    help: 'Events that were added to the stream; one of up to 1000 devices.',
    labels: [],
  },
  herald_webhook_requests_total: {
    help: 'Requests to webhooks by result: 2xx, 3xx, 4xx, 5xx, none (no answer).',
    labels: ['result'],
  },
  herald_webhook_entries_total: {
    help: 'Entries in requests that were answered with 2xx.',
    labels: [],
  },
  herald_webhooks_rested_total: {
    help: 'Webhooks that stopped sending: gone (410), or failing for three days.',
    labels: ['cause'],
  },
  herald_native_written_total: {
    help: 'Messages written to connections, including repetitions.',
    labels: [],
  },
  herald_native_acknowledged_total: {
    help: 'Acknowledgements from devices, including repetitions.',
    labels: [],
  },
  herald_native_closed_total: {
    help: 'Connections closed by the gateway, by close code.',
    labels: ['code'],
  },
} as const

export const gauges = {
  herald_native_connections: { help: 'Open device connections.', labels: [] },
  herald_queue_recipients: {
    help: 'Recipients in open batches: ready, later (scheduled), released, sending, paced, held. A lower bound: the query is limited.',
    labels: ['channel', 'state'],
  },
  herald_queue_age_seconds: {
    help: 'Age of the oldest sendable batch that no worker has claimed.',
    labels: ['channel'],
  },
  herald_queue_jobs: {
    help: 'Jobs in the queues of both lanes: waiting, active.',
    labels: ['channel', 'state'],
  },
  herald_tasks_open: {
    help: 'Tasks that are due, planning or sending; counted up to 10000.',
    labels: ['state'],
  },
  herald_planning_age_seconds: {
    help: 'Age of the oldest due task that no planner has claimed.',
    labels: [],
  },
  herald_certificates: {
    help: 'Certificates by state: open, closed, suspect.',
    labels: ['channel', 'state'],
  },
  herald_breakers_open: {
    help: 'Certificates whose breaker is open: the vendor does not answer, and one batch at a time is tried.',
    labels: ['channel'],
  },
  herald_certificate_holds: {
    help: 'Parts of certificates (a class, a topic, a notification channel) that the vendor refuses (rejected) or whose quota is used up (quota).',
    labels: ['channel', 'kind'],
  },
  herald_certificate_expiry_seconds: {
    help: 'Time until the first certificate of a channel expires.',
    labels: ['channel'],
  },
  herald_governor_permits: {
    help: 'Devices that may be sent to immediately, over all certificates, as last written by a worker.',
    labels: ['channel', 'class'],
  },
  herald_governor_in_debt: {
    help: 'Certificates whose token bucket is empty: their batches wait.',
    labels: ['channel', 'class'],
  },
  herald_governor_used_today: {
    help: 'Devices counted against daily quotas, for the current day of each certificate.',
    labels: ['channel', 'class'],
  },
  herald_webhooks: {
    help: 'Webhooks by state: active, failing (the last request failed), rested (nothing is sent until a person acts).',
    labels: ['state'],
  },
  herald_webhook_backlog_age_seconds: {
    help: 'Age of the oldest event that is not yet delivered to an active webhook.',
    labels: [],
  },
  herald_outbox_age_seconds: {
    help: 'Age of the oldest event that no courier has added to the stream.',
    labels: [],
  },
  herald_database_bytes: { help: 'Size of the database.', labels: [] },
  herald_dependency_up: { help: '1 = postgres or queue responded recently.', labels: ['dependency'] },
  herald_clock_offset_seconds: {
    help: 'Clock of this process minus clock of Postgres, accurate to one round trip.',
    labels: [],
  },
  herald_postgres_connections: {
    help: 'Pool connections: busy, idle, and callers waiting for one.',
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
    help: 'Time from accepting a task (or its start time) to the first vendor call for a batch, by the clock of Postgres.',
    labels: ['channel', 'lane'],
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800],
  },
  herald_vendor_call_seconds: {
    help: 'Duration of vendor calls; on channels with one request per device, a call is a whole batch.',
    labels: ['channel'],
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
  },
  herald_webhook_seconds: {
    help: 'Duration of requests to webhooks.',
    labels: [],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15],
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
