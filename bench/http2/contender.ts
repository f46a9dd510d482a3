/** One client of the race, run as a process of its own: `send` pushes to all these tokens and throws if one fails. */
export type Contender = {
  send(tokens: readonly string[]): Promise<void>
  close(): Promise<void>
}

export type Run = { requests: number; ms: number; cpuMs: number }

/** Warms the client up with recipients of their own, then times the rest; tells the parent each result. */
export async function race(
  tokenOf: (index: number) => string,
  open: (port: number) => Promise<Contender>,
): Promise<void> {
  const [port, warmUp, requests] = process.argv.slice(2).map(Number) as [number, number, number]
  // Through bytes, as they would come from a database: a string still in pieces is put together in the middle of the race.
  const tokens = Array.from({ length: warmUp + requests }, (_, index) =>
    Buffer.from(tokenOf(index)).toString('latin1'),
  )
  const contender = await open(port)
  await contender.send(tokens.splice(0, warmUp))
  await tellAndWait({ warm: true })
  const cpu = process.cpuUsage()
  const start = performance.now()
  await contender.send(tokens)
  const ms = performance.now() - start
  const { user, system } = process.cpuUsage(cpu)
  process.send?.({ requests, ms, cpuMs: (user + system) / 1000 } satisfies Run)
  await contender.close()
  process.disconnect()
}

function tellAndWait(message: object): Promise<void> {
  return new Promise((resolve) => {
    process.once('message', () => resolve())
    process.send?.(message)
  })
}
