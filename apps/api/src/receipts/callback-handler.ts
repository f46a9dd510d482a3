import type { CallbackRequest, CallbackResponse } from '@herald/channels'
import type { Database } from '@herald/db/store'
import type { CertificateCache } from '@herald/plan'
import type { Logger } from '@herald/telemetry'
import type { Meters } from '../meters.ts'
import { startCallbackSweep } from './callback-sweep.ts'
import { type CertificateFinder, createCertificateFinder } from './find-certificate.ts'
import type { ReceiptSink } from './receipt-sink.ts'
import { createStoredCallbacks } from './stored-callbacks.ts'

/**
 * Bytes of the callbacks that are being applied; those beyond are left to the sweep. A callback is answered once it is stored, so nothing else
 * would bound the receipts in memory if vendors send faster than Postgres counts.
 */
const MAX_APPLYING = 32 * 2 ** 20
/** What occupies memory beside the body, roughly: a callback that waits for a connection, and a receipt. */
const CALLBACK_BYTES = 4096
const RECEIPT_BYTES = 200

export type CallbackHandler = CertificateFinder & {
  /** Returns the response for the vendor once the callback is stored; undefined when there is no such callback. */
  handle(
    certificateId: number,
    request: CallbackRequest,
    requestId?: string,
  ): Promise<CallbackResponse | undefined>
  /** Applies callbacks that were left, and those that another process did not finish; returns how many. */
  sweep(): Promise<number>
  close(): Promise<void>
}

export function createCallbackHandler(deps: {
  db: Database
  certificates: CertificateCache
  receipts: ReceiptSink
  meters: Meters
  log: Logger
  /** Nothing happens, and no other process stores callbacks. */
  isQuiet?(): boolean
  /** For specs: bytes of callbacks that are applied at a time. */
  maxApplying?: number
}): CallbackHandler {
  const { certificates, meters, log, isQuiet, maxApplying = MAX_APPLYING } = deps
  const stored = createStoredCallbacks(deps)
  const { sweep, stop } = startCallbackSweep({ certificates, stored, log, isQuiet })
  const applying = new Set<Promise<void>>()
  let applyingBytes = 0

  return {
    ...createCertificateFinder(deps.db),
    async handle(certificateId, request, requestId) {
      const certificate = await certificates.byId(certificateId)
      if ('problem' in certificate)
        return certificate.removed ? undefined : { status: 503, contentType: 'text/plain', body: 'not ready' }
      const read = certificate.adapter.readCallback?.(request, certificate.settings)
      // This vendor does not send callbacks.
      if (!read) return undefined
      const { channel, application } = certificate.stored
      meters.calledBack(channel, read.ok ? 'read' : 'refused')
      if (!read.ok) {
        log.warn({ requestId, channel, app: application }, `refused a vendor callback: ${read.problem}`)
        return read.response
      }
      if (read.receipts.length === 0) return read.response
      const { query, body, now } = request
      const headers = pick(request.headers, certificate.adapter.callbackHeaders ?? [])
      const callback = { certificateId, headers, query: { ...query }, body }
      const bytes = CALLBACK_BYTES + body.length + read.receipts.length * RECEIPT_BYTES
      if (applyingBytes + bytes > maxApplying) {
        await stored.leave(callback)
        return read.response
      }
      applyingBytes += bytes
      const storing = stored.store(callback)
      const work = storing
        .then(
          (id) => stored.apply(id, certificate, read.receipts, now, requestId),
          // The call fails with it.
          () => {},
        )
        .finally(() => {
          applyingBytes -= bytes
          applying.delete(work)
        })
      applying.add(work)
      await storing
      return read.response
    },
    sweep,
    async close() {
      await stop()
      await Promise.all(applying)
    },
  }
}

/** The other headers, of proxies for example, may contain credentials. */
function pick(headers: CallbackRequest['headers'], names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]])),
  )
}
