import type { Transport } from '../channel.ts'

/**
 * Loads a transport with its first call. Every process that plans routes needs the pure parts of all vendors; with static imports
 * it would also load every vendor's network client. `hasSendEach` says whether the transport has that method.
 */
export function lazyTransport<Payload>(
  load: () => Promise<Transport<Payload>>,
  hasSendEach = false,
): Transport<Payload> {
  let loaded: Promise<Transport<Payload>> | undefined
  const transport = () => {
    loaded ??= load()
    return loaded
  }
  return {
    send: async (...args) => (await transport()).send(...args),
    ...(hasSendEach && {
      sendEach: async (...args: Parameters<NonNullable<Transport<Payload>['sendEach']>>) =>
        (await transport()).sendEach!(...args),
    }),
    check: async (signal) => (await transport()).check(signal),
    close: async () => (await loaded)?.close(),
  }
}
