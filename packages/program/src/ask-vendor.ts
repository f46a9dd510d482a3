import { rejectOnAbort } from '@herald/async'
import type { ChannelAdapter, CheckResult, TransportDeps } from '@herald/channels'

const CHECK_MS = 20_000

/**
 * Checks the credentials with the vendor, over a transport of its own: connections that were opened before may be the cause of a
 * refusal. A vendor that cannot be asked is a temporary problem.
 */
export async function askVendor(
  adapter: ChannelAdapter,
  settings: unknown,
  deps: TransportDeps,
): Promise<CheckResult> {
  const limit = AbortSignal.timeout(CHECK_MS)
  const transport = adapter.open(settings, deps)
  try {
    // A transport that ignores its signal must not block the caller.
    return await Promise.race([transport.check(limit), rejectOnAbort(limit)])
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return { ok: false, problem: `The vendor could not be reached: ${reason}`, temporary: true }
  } finally {
    await transport.close().catch(() => {})
  }
}
