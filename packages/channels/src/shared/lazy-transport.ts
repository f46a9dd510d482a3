import type { Transport } from '../channel.ts'

/**
 * Loads a transport with its first call. Every process that plans routes needs the pure parts of all vendors; with static imports
 * it would also load every vendor's network client.
 */
export function lazyTransport<Payload>(load: () => Promise<Transport<Payload>>): Transport<Payload> {
  let loaded: Promise<Transport<Payload>> | undefined
  const transport = () => {
    loaded ??= load()
    return loaded
  }
  return {
    send: async (...args) => (await transport()).send(...args),
    check: async (signal) => (await transport()).check(signal),
    close: async () => (await loaded)?.close(),
  }
}
