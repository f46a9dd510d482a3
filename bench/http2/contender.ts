/** One of the compared clients. `send` pushes to all tokens and throws if one fails. */
export type Contender = {
  send(tokens: readonly string[]): Promise<void>
  close(): Promise<void>
}

export type Run = { requests: number; ms: number; cpuMs: number }

/** Runs a client as a process of startChild: warms it up with separate recipients, then measures the rest on request. */
export async function runContender(
  tokenOf: (index: number) => string,
  open: (port: number) => Promise<Contender>,
): Promise<void> {
  const [port, warmUp, requests] = process.argv.slice(2).map(Number) as [number, number, number]
  // Made from bytes, as a database driver does: V8 would flatten a concatenated string during the measurement.
  const tokens = Array.from({ length: warmUp + requests }, (_, index) =>
    Buffer.from(tokenOf(index)).toString('latin1'),
  )
  const contender = await open(port)
  await contender.send(tokens.splice(0, warmUp))
  await new Promise<void>((resolve) => {
    process.once('message', () => resolve())
    process.send!({ warm: true })
  })
  const cpu = process.cpuUsage()
  const start = performance.now()
  await contender.send(tokens)
  const ms = performance.now() - start
  const { user, system } = process.cpuUsage(cpu)
  process.send!({ requests, ms, cpuMs: (user + system) / 1000 } satisfies Run)
  await contender.close()
}
