/** Speed over the last seconds, for the displayed rate and ETA. */
export function createRate(windowMs = 5_000) {
  const samples: { at: number; done: number }[] = []
  return {
    /** Adds a sample (`done` units at the time `now` in ms) and returns the units per second. */
    at(now: number, done: number): number {
      samples.push({ at: now, done })
      while (samples.length > 2 && now - samples[0]!.at > windowMs) samples.shift()
      const [first] = samples
      return now > first!.at ? Math.max(0, ((done - first!.done) * 1000) / (now - first!.at)) : 0
    },
  }
}
