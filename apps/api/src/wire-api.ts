import type { RequestListener } from 'node:http'
import { tokenBuckets } from '@herald/async'
import { adapters } from '@herald/channels/all'
import { createLastSeen, openPushTokens } from '@herald/db/devices'
import { sharedKey } from '@herald/db/store'
import { createAcceptor } from '@herald/plan'
import { type Context, transportDeps } from '@herald/program'
import { createAdmission, createQueuedAdmission } from './admission.ts'
import { createConsoleSessions } from './auth/console-sessions.ts'
import { createOperatorKeyCheck } from './auth/operator-key.ts'
import { createPasswords } from './auth/passwords.ts'
import { createSessions } from './auth/sessions.ts'
import { createTokens, newTokenKey } from './auth/tokens.ts'
import { createUploadCheck } from './certificates/upload-check.ts'
import { createOverviewReader, createSeriesReader } from './console/overview.ts'
import type { ApiDeps } from './deps.ts'
import { createBodyBudget } from './http/body-budget.ts'
import { createCallTurns } from './http/call-turns.ts'
import { type AppOptions, createApp } from './http/create-app.ts'
import { createIdentities } from './identity/identities.ts'
import { createKeySetReader } from './identity/key-set-reader.ts'
import { createDeviceWrites } from './import/device-writes.ts'
import { createMeters } from './meters.ts'
import { createAttachmentProbe } from './notify/attachment-probe.ts'
import { createCallbackHandler } from './receipts/callback-handler.ts'
import { receiptLimit } from './receipts/receipt-limit.ts'
import { createReceiptSink } from './receipts/receipt-sink.ts'
import { MIB } from './route.ts'
import { createWebhookCalls } from './webhook-calls.ts'

export type WiredApi = {
  /** The request handler for an HTTP server. */
  app: RequestListener
  deps: ApiDeps
  /** Resolves when work in progress has ended. */
  close(): Promise<void>
}

export type WireOptions = AppOptions & { overrides?: Partial<ApiDeps> }

/** Shorter operator keys are accepted, with a warning: ten guesses per address do not stop a guess from many addresses. */
const OPERATOR_KEY_LENGTH = 32
/** Without a note for this long nothing happens. */
const QUIET_AFTER_MS = 5_000

/** Connects the API to a program's Postgres, queue and settings; opens no port. */
export async function wireApi(context: Context, options: WireOptions = {}): Promise<WiredApi> {
  const { settings, db, sealer, queues, certificates, log, registry } = context
  const privateKey = settings.tokenKey ?? (await sharedKey(db, sealer, 'token-signing', newTokenKey))
  if (settings.operatorKey !== undefined && settings.operatorKey.length < OPERATOR_KEY_LENGTH)
    log.warn(
      `HERALD_OPERATOR_KEY has fewer than ${OPERATOR_KEY_LENGTH} characters; use a random one of that length`,
    )
  const pushTokens = await openPushTokens(db, sealer)
  const meters = createMeters(registry)
  const acceptor = createAcceptor({
    db,
    queues,
    certificates,
    onQueueFailure: (error, tasks) =>
      log.warn({ err: error, tasks }, 'could not enqueue jobs; the feeder will re-enqueue their batches'),
    onPlanned: meters.planned,
  })
  const lastSeen = createLastSeen(db, (error) =>
    log.warn({ err: error }, 'could not record when devices were seen'),
  )
  const receipts = createReceiptSink(db, (...counted) => {
    meters.received(...counted)
    context.activity?.note()
  })
  const isQuiet = () => context.activity?.isAlone === true && context.activity.quietMs() > QUIET_AFTER_MS
  const callbacks = createCallbackHandler({ db, certificates, receipts, meters, log, isQuiet })
  const sessions = createSessions(db, createTokens({ privateKey, days: settings.tokenDays }), pushTokens)
  const deps: ApiDeps = {
    db,
    sealer,
    pushTokens,
    log,
    registry,
    queues,
    meters,
    acceptor,
    certificates,
    adapters,
    uploads: createUploadCheck(),
    transportDeps: (certificateId) => transportDeps(context, certificateId),
    devices: createDeviceWrites({ db, pushTokens }),
    seen: lastSeen.seen,
    receipts,
    callbacks,
    overview: createOverviewReader(db),
    series: createSeriesReader(db),
    passwords: createPasswords(),
    sessions,
    consoleSessions: createConsoleSessions({ db, sessions, operatorKey: settings.operatorKey }),
    identities: createIdentities({ db, log, readKeys: createKeySetReader() }),
    webhooks: createWebhookCalls({ allowPrivate: settings.webhookPrivate }),
    operatorKey: settings.operatorKey,
    checkOperatorKey: createOperatorKeyCheck({ db, operatorKey: settings.operatorKey }),
    publicUrl: settings.publicUrl,
    register: settings.register,
    probe: settings.probeAttachments ? createAttachmentProbe() : undefined,
    limits: {
      login: tokenBuckets({ perSecond: settings.loginsPerSecond, burst: settings.loginsPerSecond * 2 }),
      register: tokenBuckets({
        perSecond: settings.registrationsPerSecond,
        burst: settings.registrationsPerSecond * 2,
      }),
      address: tokenBuckets({ perSecond: 1000, burst: 5000 }),
      caller: tokenBuckets({ perSecond: 100, burst: 500 }),
      receipts: tokenBuckets(receiptLimit),
      refused: tokenBuckets({ perSecond: 20, burst: 500 }),
      // Many users may share an address, and mistype.
      failedLogin: tokenBuckets({ perSecond: 1, burst: 1000 }),
    },
    bodies: {
      callback: createBodyBudget({
        perAddress: { bodies: 500, bytes: 32 * MIB },
        all: { bodies: 2000, bytes: 64 * MIB },
        log,
      }),
      anonymous: createBodyBudget({
        perAddress: { bodies: 1000, bytes: 16 * MIB },
        all: { bodies: 5000, bytes: 64 * MIB },
        log,
      }),
    },
    turns: createCallTurns(),
    admission: {
      imports: createAdmission({ perApplication: 4, all: 8 }),
      counts: createQueuedAdmission({ perApplication: 2, all: 4, waiting: 50 }),
      exports: createAdmission({ perApplication: 2, all: 3 }),
      // A body occupies about four times its size until its call ends.
      bodies: createAdmission({ perApplication: 24 * MIB, all: 72 * MIB }),
    },
    trustedProxies: settings.trustedProxies,
    activity: context.activity,
    waiting: () => context.dependencies.missing(['postgres']),
    ...options.overrides,
  }
  return {
    app: createApp(deps, options),
    deps,
    async close() {
      await deps.callbacks.close()
      await deps.acceptor.close()
      await deps.uploads.close()
      await lastSeen.close()
    },
  }
}
