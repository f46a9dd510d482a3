import { adapters } from '@herald/channels'
import { sharedKey } from '@herald/db/store'
import { createAcceptor } from '@herald/plan'
import { type Context, transportDeps } from '@herald/program'
import type { Express } from 'express'
import { createConsoleSessions } from './auth/console-sessions.ts'
import { createPasswords } from './auth/passwords.ts'
import { createSessions } from './auth/sessions.ts'
import { createTokens, newTokenKey } from './auth/tokens.ts'
import { createOverviewReading } from './console/overview-reading.ts'
import type { ApiDeps } from './deps.ts'
import { createMeters } from './meters.ts'
import { createAttachmentProbe } from './notify/attachment-probe.ts'
import { createCallbackDesk } from './receipts/callback-desk.ts'
import { createReceiptSink } from './receipts/receipt-sink.ts'
import { type AppOptions, createApp } from './rim/create-app.ts'
import { createRateLimiter } from './rim/rate-limiter.ts'

export type WiredApi = {
  /** Handles requests; the owner of the server passes them on. */
  app: Express
  deps: ApiDeps
  /** Lets what is under way end. */
  close(): Promise<void>
}

export type WireOptions = AppOptions & { overrides?: Partial<ApiDeps> }

/** Wires the interface to a program's Postgres, queue and settings; opens no port. */
export async function wireApi(context: Context, options: WireOptions = {}): Promise<WiredApi> {
  const { settings, db, sealer, queues, certificates, log, registry } = context
  const privateKey = settings.tokenKey ?? (await sharedKey(db, sealer, 'token-signing', newTokenKey))
  const meters = createMeters(registry)
  const acceptor = createAcceptor({
    db,
    queues,
    certificates,
    // The batches are committed and stay released: the feeder names them again.
    onQueueFailure: (error, tasks) =>
      log.warn({ err: error, tasks }, 'the queue took no job; the feeder will add it later'),
    onPlanned: meters.planned,
  })
  const receipts = createReceiptSink(db, meters.received)
  const callbacks = createCallbackDesk({ db, certificates, receipts, meters, log })
  const sessions = createSessions(db, createTokens({ privateKey, days: settings.tokenDays }))
  const deps: ApiDeps = {
    db,
    sealer,
    log,
    registry,
    queues,
    meters,
    acceptor,
    certificates,
    adapters,
    transportDeps: (certificateId) => transportDeps(context, certificateId),
    receipts,
    callbacks,
    overview: createOverviewReading(db),
    passwords: createPasswords(),
    sessions,
    consoleSessions: createConsoleSessions({ db, sessions, operatorKey: settings.operatorKey }),
    operatorKey: settings.operatorKey,
    publicUrl: settings.publicUrl,
    register: settings.register,
    probe: settings.probeAttachments ? createAttachmentProbe() : undefined,
    limits: {
      login: createRateLimiter({ perSecond: settings.loginsPerSecond, burst: settings.loginsPerSecond * 2 }),
      register: createRateLimiter({
        perSecond: settings.registrationsPerSecond,
        burst: settings.registrationsPerSecond * 2,
      }),
      address: createRateLimiter({ perSecond: 1000, burst: 5000 }),
      caller: createRateLimiter({ perSecond: 100, burst: 500 }),
    },
    trustedProxies: settings.trustedProxies,
    waiting: () => context.dependencies.missing(['postgres']),
    ...options.overrides,
  }
  return {
    app: createApp(deps, options),
    deps,
    async close() {
      await deps.callbacks.close()
      await deps.acceptor.close()
    },
  }
}
