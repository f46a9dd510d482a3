/** Speed over the last seconds, which is what a person who watches expects of a rate and an ETA. */
export function createRate(windowMs = 5_000) {
  const samples: { at: number; done: number }[] = []
  return {
    /** Units per second after having done so many at that time (ms). */
    at(now: number, done: number): number {
      samples.push({ at: now, done })
      while (samples.length > 2 && now - samples[0]!.at > windowMs) samples.shift()
      const [first] = samples
      return now > first!.at ? Math.max(0, ((done - first!.done) * 1000) / (now - first!.at)) : 0
    },
  }
}
