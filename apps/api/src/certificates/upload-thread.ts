import { parentPort } from 'node:worker_threads'
import { type Certificate, CertificateProblem } from '@herald/channels'
import { adapters } from '@herald/channels/all'

/** The entry point of the thread that reads uploaded certificates, see upload-check.ts. The first reply, `{}`, says that it is ready. */
export type ThreadReply = { expiresAt?: number } | { problem: string } | { error: Error }

const reply = (value: ThreadReply) => parentPort!.postMessage(value)

parentPort!.on('message', (certificate: Certificate) => reply(read(certificate)))
reply({})

function read(certificate: Certificate): ThreadReply {
  try {
    const adapter = adapters[certificate.channel]!
    const settings = adapter.readSettings(certificate)
    return { expiresAt: adapter.expiresAt?.(settings) }
  } catch (error) {
    return error instanceof CertificateProblem ? { problem: error.message } : { error: error as Error }
  }
}
