import type { CallbackRequest, CallbackResponse } from '@herald/channels'
import type { Database } from '@herald/db/store'
import type { CertificateCache } from '@herald/plan'
import type { Logger } from '@herald/telemetry'
import type { Meters } from '../meters.ts'
import { startCallbackSweep } from './callback-sweep.ts'
import { type CertificateFinder, createCertificateFinder } from './find-certificate.ts'
import type { ReceiptSink } from './receipt-sink.ts'
import { createStoredCallbacks } from './stored-callbacks.ts'

export type CallbackHandler = CertificateFinder & {
  /** Returns the response for the vendor once the callback is stored; undefined when there is no such callback. */
  handle(
    certificateId: number,
    request: CallbackRequest,
    requestId?: string,
  ): Promise<CallbackResponse | undefined>
  /** Applies callbacks that another process did not finish; returns how many. */
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
}): CallbackHandler {
  const { certificates, meters, log, isQuiet } = deps
  const stored = createStoredCallbacks(deps)
  const { sweep, stop } = startCallbackSweep({ certificates, stored, log, isQuiet })
  const applying = new Set<Promise<void>>()

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
      const { query, body } = request
      const headers = pick(request.headers, certificate.adapter.callbackHeaders ?? [])
      const id = await stored.store({ certificateId, headers, query: { ...query }, body })
      const work = stored
        .apply(id, certificate, read.receipts, request.now, requestId)
        .finally(() => applying.delete(work))
      applying.add(work)
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
