import { timingSafeEqual } from 'node:crypto'
import type { CallbackAnswer, CallbackRequest, Receipt } from '@herald/channels'
import type { Database } from '@herald/db/store'
import {
  callbackKeys,
  forgetCallbacks,
  leaseCallbacks,
  type NewCallback,
  type StoredCallback,
  storeCallbacks,
} from '@herald/db/tasks'
import { channelOfPublicName } from '@herald/domain'
import type { CertificateBook, ReadCertificate } from '@herald/plan'
import type { Logger } from '@herald/telemetry'
import type { Meters } from '../meters.ts'
import { applyReceipts } from './apply-receipts.ts'
import { gather } from './gather.ts'
import type { ReceiptSink } from './receipt-sink.ts'

export type CallbackDesk = {
  /** The vendor's answer; undefined when there is no such address. What it reports is stored by then. */
  take(
    address: CallbackAddress,
    request: CallbackRequest,
    requestId?: string,
  ): Promise<CallbackAnswer | undefined>
  /** Reads what a process that died left unread; answers how many. */
  sweep(): Promise<number>
  close(): Promise<void>
}

export type CallbackAddress = { channel: string; appId: string; key: string }

const LEASE_SECONDS = 60
const SWEEP_MS = 5_000
/** A callback may have 4 MiB. */
const SWEPT_AT_ONCE = 5
const MOST_ATTEMPTS = 20

export function createCallbackDesk(deps: {
  db: Database
  certificates: CertificateBook
  receipts: ReceiptSink
  meters: Meters
  log: Logger
}): CallbackDesk {
  const { db, certificates, meters, log } = deps
  const store = gather<NewCallback, number>((callbacks) => storeCallbacks(db, callbacks, LEASE_SECONDS), 100)
  const forget = gather<number, void>(async (ids) => {
    await forgetCallbacks(db, ids)
    return ids.map(() => undefined)
  }, 1000)
  const reading = new Set<Promise<void>>()

  async function findCertificate({
    channel: name,
    appId,
    key,
  }: CallbackAddress): Promise<number | undefined> {
    const channel = channelOfPublicName(name)
    if (!channel || channel === 'native' || !/^[\w-]{22}$/.test(key) || !/^[\w.-]{1,32}$/.test(appId))
      return undefined
    const found = (await callbackKeys(db, appId, channel)).find(({ callbackKey }) =>
      timingSafeEqual(Buffer.from(callbackKey), Buffer.from(key)),
    )
    return found?.certificateId
  }

  async function apply(
    id: number,
    certificate: ReadCertificate,
    receipts: Receipt[],
    at: number,
    requestId?: string,
  ) {
    try {
      await applyReceipts(deps, certificate, receipts, at)
      await forget(id)
    } catch (error) {
      // The row stays, and the sweep finds it when its lease is over.
      log.warn({ err: error, requestId, callback: id }, 'a vendor callback could not be read yet')
    }
  }

  async function readAgain(stored: StoredCallback): Promise<void> {
    const certificate = await certificates.byId(stored.certificateId)
    const removed = 'problem' in certificate && certificate.removed
    if (removed || stored.attempts > MOST_ATTEMPTS) {
      log.error(
        { callback: stored.id },
        removed
          ? 'a callback of a removed certificate is dropped'
          : 'a callback that cannot be read is dropped',
      )
      await forget(stored.id)
      return
    }
    if ('problem' in certificate) return
    const { adapter, settings } = certificate
    const read = adapter.readCallback?.({ ...stored, now: stored.arrivedAt }, settings)
    await apply(stored.id, certificate, read?.ok ? read.receipts : [], stored.arrivedAt)
  }

  async function sweep(): Promise<number> {
    const left = await leaseCallbacks(db, SWEPT_AT_ONCE, LEASE_SECONDS)
    for (const stored of left) await readAgain(stored)
    return left.length
  }

  let sweeping: Promise<unknown> = Promise.resolve()
  const timer = setInterval(() => {
    sweeping = sweeping.then(async () => {
      while ((await sweep()) === SWEPT_AT_ONCE) {}
    })
    sweeping = sweeping.catch((error) =>
      log.warn({ err: error }, 'callbacks left by others could not be swept'),
    )
  }, SWEEP_MS)
  timer.unref()

  return {
    async take(address, request, requestId) {
      const certificateId = await findCertificate(address)
      if (certificateId === undefined) return undefined
      const certificate = await certificates.byId(certificateId)
      if ('problem' in certificate)
        return certificate.removed ? undefined : { status: 503, contentType: 'text/plain', body: 'not ready' }
      const read = certificate.adapter.readCallback?.(request, certificate.settings)
      // A vendor that does not call back.
      if (!read) return undefined
      meters.calledBack(certificate.stored.channel, read.ok ? 'read' : 'refused')
      if (!read.ok) {
        log.warn(
          { requestId, channel: address.channel, app: address.appId },
          `a vendor callback is refused: ${read.problem}`,
        )
        return read.answer
      }
      if (read.receipts.length === 0) return read.answer
      const { headers, query, body } = request
      const id = await store({ certificateId, headers: { ...headers }, query: { ...query }, body })
      const work = apply(id, certificate, read.receipts, request.now, requestId).finally(() =>
        reading.delete(work),
      )
      reading.add(work)
      return read.answer
    },
    sweep,
    async close() {
      clearInterval(timer)
      await sweeping
      await Promise.all(reading)
    },
  }
}
